"""Pictures of runs. matplotlib is an extra: ``pip install spd1[plot]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .errors import install

__all__ = ["compare", "plot_result"]

AXES = {
    "passes": "passes over the data (entries read / stored)",
    "paper_passes": "passes over the data (the paper's count)",
    "seconds": "seconds",
}
# Distinct in colour (Okabe-Ito), in marker and in grey.
STYLES = [
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "-"),
    ("#009E73", "^", "--"),
    ("#CC79A7", "D", "--"),
    ("#56B4E9", "v", "-."),
    ("#E69F00", "P", "-."),
    ("#000000", "X", ":"),
    ("#7F7F7F", "*", "-"),
    ("#8C564B", "<", "--"),
    ("#1B9E77", ">", ":"),
    ("#882255", "h", "-."),
]
FLOOR = 1e-16
NAMED_CURVES = 10  # coefficients of a path that are called by name
GREY = "#9a9a9a"


class Traced(Protocol):
    """What pictures ask of a ``Result``."""

    @property
    def trace(self) -> Any:
        """Its history: columns by name."""

    @property
    def method(self) -> str:
        """What ran."""

    @property
    def status(self) -> str:
        """Why it stopped."""


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(install("pictures need matplotlib", "plot")) from None
    return pyplot


def _axis(x: str) -> str:
    if x not in AXES:
        raise ValueError(f"x must be one of {', '.join(AXES)}, not {x!r}")
    return AXES[x]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def plot_result(result: Traced, ax: Any = None, x: str = "passes") -> Any:
    """Draw the relative gap of one run, and its primal and dual values as a shaded band.

    Parameters
    ----------
    result : Result
    ax : matplotlib axes, optional
    x : {"passes", "paper_passes", "seconds"}

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window; leave it out at the prompt
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> result = spd1.solve(A, A[:, 0], loss="squared", l1=0.1)
    >>> plot_result(result).get_ylabel()
    'relative duality gap'
    """
    label, ax = _axis(x), _axes(ax)
    trace, color = result.trace, STYLES[0][0]
    across = getattr(trace, x)
    ax.semilogy(across, np.maximum(trace.rel_gap, FLOOR), color=color, label="relative gap")
    ax.set(xlabel=label, ylabel="relative duality gap", title=f"{result.method}: {result.status}")
    band = ax.twinx()
    band.fill_between(across, trace.dual, trace.primal, color="#999999", alpha=0.25, linewidth=0)
    band.set_ylabel("optimum lies between dual and primal (grey)")
    ax.grid(True, which="major", alpha=0.3)
    return ax


def compare(
    results: Mapping[str, Traced],
    *,
    x: str = "passes",
    optimum: float | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw several runs in one picture.

    Parameters
    ----------
    results : mapping of label to Result
    x : {"passes", "paper_passes", "seconds"}
    optimum : float, optional
        If given, the vertical axis is P(x) - P*; otherwise the relative duality gap.
    title : str
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no window; leave it out at the prompt
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> problem = spd1.Problem(A, A[:, 0], loss="squared", reg=spd1.L2(0.1))
    >>> results = {name: spd1.solve(problem, name) for name in ("auto", "saga")}
    >>> compare(results, x="seconds").get_ylabel()
    'relative duality gap'
    """
    label, ax = _axis(x), _axes(ax)
    for k, (name, result) in enumerate(results.items()):
        turn = k // len(STYLES)  # colours come again, with another marker and another line
        color = STYLES[k % len(STYLES)][0]
        marker = STYLES[(k + 4 * turn) % len(STYLES)][1]
        line = STYLES[(k + 2 * turn) % len(STYLES)][2]
        trace = result.trace
        height = trace.rel_gap if optimum is None else trace.primal - optimum
        shown = np.isfinite(height)
        ax.semilogy(
            getattr(trace, x)[shown], np.maximum(height[shown], FLOOR), color=color, marker=marker,
            linestyle=line, markevery=max(1, int(shown.sum()) // 8), markersize=4, label=name,
        )  # fmt: skip
    ax.set(xlabel=label, ylabel="relative duality gap" if optimum is None else "P(x) - P*")
    ax.set_title(title)
    ax.grid(True, which="major", alpha=0.3)
    ax.legend(frameon=False)
    return ax


def draw_path(ax: Any, alphas: np.ndarray, coefs: np.ndarray, names: Sequence[Any]) -> None:
    """Coefficients against the strength of the penalty, the strongest left.

    The largest ones at the end have colours and names, all others are grey.

    Parameters
    ----------
    ax : matplotlib axes
    alphas : array of shape (k,), decreasing
    coefs : array of shape (k, d)
    names : of the d features
    """
    order = np.argsort(-np.abs(coefs[-1]), kind="stable")
    for rank, j in reversed(list(enumerate(order))):
        line = coefs[:, j]
        if not np.any(line):
            continue
        named = rank < NAMED_CURVES
        style = {"color": f"C{rank}", "lw": 1.6} if named else {"color": GREY, "lw": 0.6}
        ax.plot(alphas, line, label=str(names[j]) if named else None, **style)
    ax.axhline(0.0, color="black", lw=0.6)
    ax.set(xscale="log", ylabel="coefficient")
    ax.invert_xaxis()
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        ax.legend(
            handles[::-1], labels[::-1], frameon=False, fontsize=8, loc="center left",
            bbox_to_anchor=(1.0, 0.5), title="largest at the end", title_fontsize=8,
        )  # fmt: skip


def draw_scores(
    ax: Any, alphas: np.ndarray, scores: np.ndarray, label: str = "mean and standard error",
    style: int = 0,
) -> None:  # fmt: skip
    """A curve of a cross-validation: mean and standard error over folds, which are rows."""
    mean, error = mean_and_error(scores)
    colour, marker, line = STYLES[style % len(STYLES)]
    order = np.argsort(alphas)
    ax.errorbar(
        alphas[order], mean[order], error[order] if np.all(np.isfinite(error)) else None,
        color=colour, marker=marker, linestyle=line, markersize=3, capsize=2, label=label,
    )  # fmt: skip
    ax.set_xscale("log")


def label_scores(ax: Any, name: str, best: float, modest: float | None = None) -> None:
    """Mark what the rules of a cross-validation take, and name the axis of scores."""
    colour = STYLES[1][0]
    ax.axvline(best, color=colour, lw=1.2, label=f"best: {best:.3g}")
    if modest is not None:
        shown = f"one standard error: {modest:.3g}"
        ax.axvline(modest, color=colour, lw=1.2, ls="--", label=shown)
    ax.set_ylabel(name)
    ax.legend(frameon=False, fontsize=8)


def mean_and_error(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over folds, and the standard error of that mean; NaN for a single fold.

    Examples
    --------
    >>> mean_and_error(np.array([[0.0], [2.0], [4.0], [2.0]]))
    (array([2.]), array([0.81649658]))
    """
    mean = scores.mean(axis=0)
    if len(scores) < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
