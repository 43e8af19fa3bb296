"""One run of one method with fixed steps: a point of its curve after every epoch.

The methods are driven epoch by epoch, without certificates: the figures show P(x) - P* alone.
For SPD1 and PSGD, which have no variance reduction, the better of the last iterate (what the
paper's captions name) and of the average of all iterates (what Algorithm 1 returns) is taken, for
both alike. SVRG and SPD1-VR start a loop from the last iterate, which is what is shown of them.
SAGA fills its table at the start: one pass, which is counted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernel.rng import key_of
from ..problem import Problem
from ..solve import starting_point
from ..solvers import method_class
from ..solvers.gradient.averaged import AveragedPSGD
from .processor import processor_clock

__all__ = ["COLUMNS", "Curve", "run_method"]

COLUMNS = ("paper_passes", "passes", "seconds", "primal")
HOPELESS = 1e6  # a loss so many times that of the start is called divergence


class Curve(NamedTuple):
    """A run: arrays of equal length, the first row is the start.

    ``paper_passes`` is the paper's count, ``passes`` entries read over entries stored, ``seconds``
    the processor time of the method alone (several runs may share the machine), ``primal`` the
    objective.
    """

    paper_passes: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray

    def to_lists(self) -> dict[str, list[float]]:
        """What JSON can hold."""
        return {name: [float(v) for v in column] for name, column in self._asdict().items()}

    @classmethod
    def from_lists(cls, lists: dict[str, Any]) -> Curve:
        """Undo ``to_lists``."""
        return cls(*(np.array(lists[name], dtype=float) for name in COLUMNS))


def run_method(
    problem: Problem,
    method: str,
    steps: dict[str, float],
    seed: int,
    horizon: float,
    sampling: str = "auto",
) -> Curve:
    """Run a method with fixed steps until the paper's pass count reaches the horizon.

    ``steps`` may hold ``decay``: after epoch k the steps are divided by 1 + decay k; for PSGD also
    ``offset``: see ``AveragedPSGD``.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(30, 20)); b = np.sign(A[:, 0])
    >>> problem = spd1.Problem(A, b, "logistic", spd1.L2(0.1))
    >>> curve = run_method(problem, "svrg", {"eta": 0.1}, seed=0, horizon=20)
    >>> len(curve.primal), bool(curve.primal[-1] < curve.primal[0])
    (11, True)
    """
    worker = _worker(problem, method, seed, sampling)
    base = {name: value for name, value in steps.items() if name != "decay"}
    worker.steps = dict(base)
    x, y, _ = starting_point(problem, None, None)
    worker.begin(x, y)
    start = problem.primal(x)
    # steps 1 / (t + offset) begin wildly and settle down: what they overshoot is not divergence
    hopeless = math.inf if "offset" in steps else HOPELESS * max(abs(start), 1.0)
    rows = [(0.0, 0.0, 0.0, start)]
    seconds, epoch = 0.0, 0
    with np.errstate(all="ignore"):
        while worker.paper_passes < horizon - 1e-9:
            began = processor_clock()
            for _ in worker.epoch():
                pass
            seconds += processor_clock() - began
            value = _best(problem, worker)
            passes = worker.entries_read / max(problem.stored, 1)
            rows.append((worker.paper_passes, passes, seconds, value))
            if not value < hopeless:
                break
            epoch += 1
            if "decay" in steps:
                fade = 1.0 + steps["decay"] * epoch
                worker.steps = {name: size / fade for name, size in base.items()}
    return Curve(*np.array(rows).T)


def _worker(problem: Problem, method: str, seed: int, sampling: str) -> Any:
    if method == "psgd":
        return AveragedPSGD(problem, key_of(seed))
    entries = method in ("spd1", "spd1-vr")
    return method_class(method)(problem, sampling if entries else "auto", key_of(seed))


def _best(problem: Problem, worker: Any) -> float:
    """P at the iterate, or at the average if that is better."""
    points = [x for x, _ in worker.iterates()]
    if worker.name == "spd1":
        points.append(worker.state.x)
    values = [problem.primal(x) for x in points if np.all(np.isfinite(x))]
    return min(values, default=math.inf)
