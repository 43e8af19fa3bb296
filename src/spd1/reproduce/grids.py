"""The step sizes tried: a stated grid, the same number of tries for every method.

Units are read off the data: u = gamma / mean |a_i|^2 for the methods that read rows, and the
balanced pair (eta, tau) that turns the saddle point by two radians a pass for SPD1 and SPD1-VR.

=========  ==============================================  =====================================
method     6 tries                                         12 tries
=========  ==============================================  =====================================
SVRG SAGA  eta / u in 1/8, 1/4, 1/2, 1, 2, 4               eta / u from 2^-3 to 2^2.5 by sqrt(2)
PSGD       eta / u in 1/4, 1, 2; decay in 0, 0.3           1/8, 1/2, 1, 2; decay in 0, 0.3, 1
SPD1-VR    scale in 1/2, 2, 4; tilt in 1/4, 1              1/2, 1, 2, 4; tilt in 1/4, 1/2, 1
SPD1       scale in 1/16, 1/4, 1; tilt in 1, 4             the same; decay in 0, 0.3
=========  ==============================================  =====================================

The pair is (eta scale / tilt, tau scale tilt); decay divides the steps by 1 + decay * epoch.
"""

from __future__ import annotations

from itertools import product

from ..errors import ParameterError
from ..problem import Problem

__all__ = ["grid"]

SCALES = {
    ("spd1-vr", 6): (0.5, 2.0, 4.0),
    ("spd1-vr", 12): (0.5, 1.0, 2.0, 4.0),
    ("spd1", 6): (1 / 16, 1 / 4, 1.0),
    ("spd1", 12): (1 / 16, 1 / 4, 1.0),
}
TILTS = {
    ("spd1-vr", 6): (0.25, 1.0),
    ("spd1-vr", 12): (0.25, 0.5, 1.0),
    ("spd1", 6): (1.0, 4.0),
    ("spd1", 12): (1.0, 4.0),
}
DECAYS = {("spd1", 12): (0.0, 0.3), ("psgd", 6): (0.0, 0.3), ("psgd", 12): (0.0, 0.3, 1.0)}
ETAS = {
    ("psgd", 6): (0.25, 1.0, 2.0),
    ("psgd", 12): (0.125, 0.5, 1.0, 2.0),
    ("svrg", 6): tuple(2.0**k for k in range(-3, 3)),
    ("svrg", 12): tuple(2.0 ** (k / 2) for k in range(-6, 6)),
}


def grid(problem: Problem, method: str, tries: int) -> list[dict[str, float]]:
    """The steps to try.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(np.eye(4), [1, -1, 1, -1], "logistic", spd1.L2(0.1))
    >>> [steps["eta"] for steps in grid(problem, "svrg", 6)]
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    >>> {len(grid(problem, m, t)) - t for m in ("psgd", "spd1", "spd1-vr") for t in (6, 12)}
    {0}
    """
    if tries not in (6, 12):
        raise ParameterError(f"grids have 6 or 12 tries, not {tries}")
    if (method, tries) in SCALES:
        return _pairs(problem, method, tries)
    unit = problem.gamma / float(problem.row_norms_squared.mean())
    etas = ETAS.get((method, tries)) or ETAS["svrg", tries]
    decays = DECAYS.get((method, tries), (0.0,))
    return [_steps({"eta": unit * eta}, decay) for eta, decay in product(etas, decays)]


def _pairs(problem: Problem, method: str, tries: int) -> list[dict[str, float]]:
    from ..solvers.base import saddle_steps

    base = saddle_steps(problem)
    choices = product(
        SCALES[method, tries], TILTS[method, tries], DECAYS.get((method, tries), (0.0,))
    )  # fmt: skip
    return [
        _steps({"eta": base["eta"] * scale / tilt, "tau": base["tau"] * scale * tilt}, decay)
        for scale, tilt, decay in choices
    ]


def _steps(steps: dict[str, float], decay: float) -> dict[str, float]:
    return steps | {"decay": decay} if decay else steps
