"""Pictures of runs. matplotlib is an extra: ``pip install spd1[plot]``."""

from __future__ import annotations

from collections.abc import Mapping
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
