"""What a run hands back: the best point, its certificate, why it stopped, and its history."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .archive import check_place, read_archive, write_archive
from .certificate.gap import Certificate
from .engines.serial import Staleness
from .errors import DataError, install
from .html import curve, grid, pairs

__all__ = ["Progress", "Result", "Trace", "continued"]


RESULT_VERSION = 1
NUMBERS = ("primal", "dual", "gap", "rel_gap", "passes", "seconds", "floor", "reach")
WORDS = ("status", "method")
SHOWN_ROWS = 3  # of a trace, at either end


class Progress(NamedTuple):
    """One row of a trace; also what a callback receives.

    Attributes
    ----------
    passes, paper_passes, seconds, primal, dual, gap, rel_gap : float
        As the columns of ``Trace``.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> seen = []
    >>> result = spd1.solve(A, A[:, 0], loss="squared", l1=0.1, callback=seen.append)
    >>> seen[-1].rel_gap <= 1e-6
    True
    """

    passes: float
    paper_passes: float
    seconds: float
    primal: float
    dual: float
    gap: float
    rel_gap: float


class Trace:
    """History of a run: one row per look at the certificate. Each column is a NumPy array.

    Attributes
    ----------
    passes
        Entries of A read, divided by the entries stored.
    paper_passes
        The paper's count: nd one-entry steps, or n row steps, or a snapshot, are one pass each.
    seconds
        Time in the method itself: evaluation and compilation are not counted.
    primal
        Objective of the iterate.
    dual
        Best lower bound proven so far.
    gap, rel_gap
        ``primal - dual``, and the same relative to ``max(|primal|, |dual|, floor)``.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> trace = spd1.solve(A, A[:, 0], loss="squared", l1=0.1).trace
    >>> len(trace.rel_gap) == len(trace.passes)
    True
    >>> bool(trace.rel_gap[-1] <= 1e-6)
    True
    """

    def __init__(self) -> None:
        self.rows: list[Progress] = []

    def __len__(self) -> int:
        return len(self.rows)

    def __getattr__(self, name: str) -> np.ndarray:
        if name in Progress._fields:
            return np.array([getattr(row, name) for row in self.rows])
        raise AttributeError(f"Trace has no column {name!r}: choose from {Progress._fields}")

    def __repr__(self) -> str:
        if not self.rows:
            return "Trace(empty)"
        return f"Trace({len(self)} rows, rel_gap {self.rows[0].rel_gap:.2g} to {self.best:.2g})"

    @property
    def best(self) -> float:
        """Least relative gap of all rows."""
        return min((row.rel_gap for row in self.rows), default=math.inf)

    def _repr_html_(self) -> str:
        """The gap as a curve, and the first and last rows."""
        shown = self.rows if len(self) <= 2 * SHOWN_ROWS else self.rows[:SHOWN_ROWS]
        cells = [[f"{value:.6g}" for value in row] for row in shown]
        if len(self) > len(shown):
            cells.append(["..."] * len(Progress._fields))
            cells += [[f"{value:.6g}" for value in row] for row in self.rows[-SHOWN_ROWS:]]
        drawn = curve([row.rel_gap for row in self.rows], "relative gap, log scale")
        return f"<div>{len(self)} rows{drawn}{grid(Progress._fields, cells)}</div>"

    def to_frame(self) -> Any:
        """Return the history as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError(install("Trace.to_frame needs pandas", "plot")) from None
        return pandas.DataFrame(self.rows, columns=list(Progress._fields))


@dataclass(frozen=True, eq=False)
class Result:
    """The best certified point of a run.

    Attributes
    ----------
    x, y : ndarray
        Solution and the feasible dual point that certifies it.
    primal, dual, gap, rel_gap : float
        ``gap >= P(x) - P*``; ``rel_gap = gap / max(|primal|, |dual|, floor)``.
    status : str
        ``converged`` (rel_gap <= tol), ``max_passes``, ``max_seconds``, ``interrupted`` (Ctrl-C
        or the callback), ``diverged``, or ``stalled``: rounding lets the method come no closer.
    passes, seconds : float
        Passes over the data (entries read / entries stored) and seconds in the method.
    trace : Trace
    method : str
    steps : dict
        Step sizes in force at the end.
    floor, reach : float
        See ``Certificate``.
    staleness : Staleness, optional
        With engine "async": how many steps old the values were that steps read, mean and max.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> result = spd1.solve(A, A[:, 0], loss="squared", l1=0.1)
    >>> result.status, result.x.shape, result.rel_gap <= 1e-6
    ('converged', (5,), True)
    """

    x: np.ndarray
    y: np.ndarray
    primal: float
    dual: float
    gap: float
    rel_gap: float
    status: str
    passes: float
    seconds: float
    trace: Trace = field(repr=False)
    method: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    floor: float = 0.0
    reach: float = math.inf
    staleness: Staleness | None = None

    @classmethod
    def made_of(cls, **fields: Any) -> Result:
        """The same as ``Result(...)`` with every field named, in a third of the time.

        Frozen dataclasses set their fields one by one, by a call each: small fits feel it.

        Examples
        --------
        >>> found = Result.made_of(x=np.zeros(2), y=np.zeros(3), primal=1.0, dual=1.0, gap=0.0,
        ...     rel_gap=0.0, status="converged", passes=2.0, seconds=0.0, trace=Trace(), method="",
        ...     steps={}, floor=0.0, reach=math.inf, staleness=None)
        >>> found.converged
        True
        """
        found = object.__new__(cls)
        found.__dict__.update(fields)
        return found

    @property
    def converged(self) -> bool:
        """Whether the relative gap asked for was reached."""
        return self.status == "converged"

    @property
    def certificate(self) -> Certificate:
        """The certificate of ``x``."""
        return Certificate(
            self.primal, self.dual, self.gap, self.rel_gap, self.y, self.floor, self.reach
        )

    def save(self, path: str | Path) -> None:
        """Write the result to a file: whole or not at all, with checksums, without pickle.

        Examples
        --------
        >>> import os, tempfile, numpy as np, spd1
        >>> problem = spd1.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", spd1.L2(0.1))
        >>> path = os.path.join(tempfile.mkdtemp(), "answer.npz")
        >>> spd1.solve(problem).save(path)
        >>> spd1.Result.load(path).status
        'converged'
        """
        about = {name: float(getattr(self, name)) for name in NUMBERS}
        about |= {name: getattr(self, name) for name in WORDS}
        steps = {str(name): float(value) for name, value in self.steps.items()}
        rows = np.array(self.trace.rows, dtype=float).reshape(-1, len(Progress._fields))
        place = check_place(path, "the file of a result")
        write_archive(
            place, "result", RESULT_VERSION, about | {"steps": steps}, [self.x, self.y, rows]
        )

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what ``save`` has written; anything else is refused by name."""
        about, arrays = read_archive(Path(path), "result", RESULT_VERSION)
        try:
            x, y, rows = arrays
            trace = Trace()
            trace.rows = [Progress(*row) for row in rows.tolist()]
            numbers = {name: float(about[name]) for name in NUMBERS}
            words = {name: str(about[name]) for name in WORDS}
            steps = {str(name): float(value) for name, value in about["steps"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{path} is damaged: it lacks or garbles {error}") from None
        return cls(x=x, y=y, trace=trace, steps=steps, **numbers, **words)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {self.status}, primal={self.primal:.8g}, "
            f"rel_gap={self.rel_gap:.2g}, passes={self.passes:.1f}, seconds={self.seconds:.3g})"
        )

    def _repr_html_(self) -> str:
        """What is proven, in words; then how it was found."""
        rows = [
            ("status", self.status),
            ("method", self.method),
            ("coefficients", f"{np.count_nonzero(self.x):,} of {self.x.size:,} are not zero"),
            ("passes", f"{self.passes:.1f}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        drawn = curve([row.rel_gap for row in self.trace.rows], "relative gap, log scale")
        return f"<div>{self.certificate._repr_html_()}{pairs(rows)}{drawn}</div>"

    def plot(self, ax: Any = None, x: str = "passes") -> Any:
        """Draw primal, dual and relative gap against passes or seconds; returns the axes."""
        from .plotting import plot_result

        return plot_result(self, ax=ax, x=x)


def continued(before: Trace, last: Progress, after: Result) -> Result:
    """The result of a run that went on where another ended: counts and seconds go on, too."""
    rows = [
        row._replace(
            passes=last.passes + row.passes,
            paper_passes=last.paper_passes + row.paper_passes,
            seconds=last.seconds + row.seconds,
        )
        for row in after.trace.rows
    ]
    after.trace.rows[:] = [*before.rows, *rows]
    return replace(after, passes=last.passes + after.passes, seconds=last.seconds + after.seconds)
