"""How pictures look: a serif-free, colour-blind-safe, print-ready style, PNG and SVG."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..files import replacing
from .curves import PanelCurves
from .settings import NAMES

__all__ = ["ACROSS", "DASHES", "draw_panels", "new_figure", "save", "styled", "wrapped"]

Draw = TypeVar("Draw", bound=Callable[..., Any])

ACROSS = {
    "paper_passes": "passes (the paper's count)",
    "passes": "entries read / entries stored",
    "seconds": "seconds of processor time",
}
# Okabe-Ito colours; variance-reduced methods solid, the others dashed; distinct in grey by marker.
DASHES = {
    "psgd": ("#E69F00", "s", "--"),
    "spd1": ("#56B4E9", "o", "--"),
    "svrg": ("#009E73", "^", "-"),
    "saga": ("#CC79A7", "D", "-"),
    "spd1-vr": ("#0072B2", "o", "-"),
    "auto": ("#000000", "X", "-"),
    "rows": ("#D55E00", "P", "-"),
    "spd1-vr tiles": ("#0072B2", "v", ":"),
    "spd1 tiles": ("#56B4E9", "v", ":"),
}
RC: Any = {
    "font.size": 8.0, "axes.titlesize": 8.0, "axes.labelsize": 8.0, "legend.fontsize": 7.5,
    "xtick.labelsize": 7.0, "ytick.labelsize": 7.0, "lines.linewidth": 1.3, "lines.markersize": 3.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "svg.fonttype": "none", "svg.hashsalt": "spd1",
}  # fmt: skip
PANEL = (2.45, 2.2)  # inches


def new_figure(rows: int, columns: int) -> tuple[Any, Any]:
    """A figure and its axes as a two-dimensional array."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(RC):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.35),
            layout="constrained", squeeze=False,
        )  # fmt: skip
    return figure, axes


def styled(draw: Draw) -> Draw:
    """Draw with the style of this module."""

    @functools.wraps(draw)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from matplotlib import pyplot

        with pyplot.rc_context(RC):
            return draw(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def wrapped(title: str) -> str:
    """A title no wider than its panel."""
    return textwrap.fill(title, 30)


@styled
def draw_panels(axes: Any, panels: list[PanelCurves], axis: str, titles: bool = True) -> None:
    """One row of panels: P(x) - P* of every method, median and band over the seeds."""
    for ax, panel in zip(axes, panels, strict=True):
        for method in NAMES:
            draw_band(ax, panel, method, axis)
        ax.set_yscale("log")
        ax.set_xlabel(ACROSS[axis])
        if axis == "seconds":
            ax.set_xscale("log")
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        if titles:
            ax.set_title(wrapped(panel.panel.title))
        _limits(ax, panel)
    axes[0].set_ylabel("P(x) - P*")


def draw_band(ax: Any, panel: PanelCurves, method: str, axis: str) -> None:
    """Median with markers, and between the lowest and highest seed a band."""
    color, marker, line = DASHES[method]
    across, band = panel.band(method, axis)
    shown = np.all(np.isfinite(band), axis=0) & ((across > 0) | (axis != "seconds"))
    across, band = across[shown], band[:, shown]
    ax.fill_between(across, band[0], band[2], color=color, alpha=0.2, linewidth=0)
    ax.plot(
        across, band[1], color=color, linestyle=line, marker=marker, label=NAMES[method],
        markevery=max(1, len(across) // 6),
    )  # fmt: skip


def _limits(ax: Any, panel: PanelCurves) -> None:
    """Leave out what diverged above the start, and the space below the accuracy of P*."""
    top = 3.0 * (panel.start - panel.optimum)
    low = min(float(np.min(panel.band(m)[1][1])) for m in NAMES)
    ax.set_ylim(max(0.5 * low, panel.floor * 0.5), top)


@styled
def save(figure: Any, folder: Path, name: str, legend_from: Any = None) -> list[Path]:
    """Write PNG and SVG, whole or not at all, with one legend below all panels."""
    from matplotlib import pyplot

    if legend_from is not None:
        handles, labels = legend_from.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    paths = []
    for suffix in ("png", "svg"):
        path = folder / f"{name}.{suffix}"
        metadata = {"Date": None} if suffix == "svg" else None
        with replacing(path) as stream:
            figure.savefig(stream, format=suffix, dpi=200, metadata=metadata)
        paths.append(path)
    pyplot.close(figure)
    return paths
