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

__all__ = [
    "ACROSS", "DASHES", "RC", "draw_panels", "frame", "mark_cut", "new_figure", "panel_title",
    "save", "styled", "title_lines", "wrapped",
]  # fmt: skip

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
    "svrg 0.1/L": ("#009E73", "2", ":"),
    "svrg 1/(3L)": ("#009E73", "2", ":"),
    "auto": ("#000000", "X", "-"),
    "rows": ("#D55E00", "P", "-"),
    "spd1-vr tiles": ("#0072B2", "v", ":"),
    "spd1 tiles": ("#56B4E9", "v", ":"),
}
# A second textbook run of SVRG goes under one name, whichever of the two steps it is.
LABELS = NAMES | dict.fromkeys(("svrg 0.1/L", "svrg 1/(3L)"), "SVRG, the worse textbook step")
RC: Any = {
    "font.size": 8.0, "axes.titlesize": 7.0, "axes.labelsize": 8.0, "legend.fontsize": 7.5,
    "xtick.labelsize": 7.0, "ytick.labelsize": 7.0, "lines.linewidth": 1.3, "lines.markersize": 3.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "svg.fonttype": "none", "svg.hashsalt": "spd1",
}  # fmt: skip
PANEL = (2.45, 2.0)  # inches


def new_figure(rows: int, columns: int, title_lines: int = 2) -> tuple[Any, Any]:
    """A figure and its axes as a two-dimensional array, with room for titles above them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    height = PANEL[1] * rows + 0.35 + 0.12 * title_lines
    with pyplot.rc_context(RC):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(PANEL[0] * columns, height), layout="constrained",
            squeeze=False,
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
    return textwrap.fill(title.replace(" x ", "\u00a0x\u00a0"), 34)


@styled
def draw_panels(
    axes: Any, panels: list[PanelCurves], axis: str, label: str = "", titles: bool = True
) -> None:
    """One row of panels: P(x) - P* of every method, median and band over seeds and draws."""
    for ax, panel in zip(axes, panels, strict=True):
        top = 3.0 * panel.start
        for method in panel.methods:
            draw_band(ax, panel, method, axis, top)
        ax.set_yscale("log")
        ax.minorticks_off()  # over ten decades they only take time
        ax.set_xlabel(ACROSS[axis])
        if axis == "seconds":
            ax.set_xscale("log")
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        if titles:
            ax.set_title(panel_title(panel))
        low = min(float(np.min(panel.band(m)[1][1])) for m in panel.methods)
        frame(ax, panel, low, top)
    axes[0].set_ylabel(f"{label}\nP(x) - P*" if label else "P(x) - P*")


def frame(ax: Any, panel: PanelCurves, low: float, top: float) -> None:
    """Heights from the lowest value to ``top``; the accuracy of P* is marked if it is near."""
    near = low <= 10.0 * panel.floor
    ax.set_ylim(0.1 * panel.floor if near else 0.5 * low, top)
    if near:  # with room for a word below the line, where no curve goes
        ax.axhline(panel.floor, color="#777777", linewidth=0.8, linestyle=(0, (1, 2)))
        ax.annotate("accuracy of P*", (0.02, 0.8 * panel.floor), fontsize=5.5, color="#555555",
                    xycoords=("axes fraction", "data"), va="top")  # fmt: skip


def mark_cut(ax: Any, across: np.ndarray, color: str, up: bool = True) -> None:
    """Arrows at the top of the frame, or at its bottom, where a curve has left it."""
    height, arrow = (0.96, r"$\uparrow$") if up else (0.04, r"$\downarrow$")
    ax.plot(across, np.full(len(across), height), transform=ax.get_xaxis_transform(), color=color,
            linestyle="none", marker=arrow, markersize=4.5)  # fmt: skip


def title_lines(panels: list[PanelCurves]) -> int:
    """Lines of the longest title."""
    return max(panel_title(panel).count("\n") + 1 for panel in panels)


def panel_title(panel: PanelCurves) -> str:
    """Data, loss and lambda, no wider than the panel."""
    return "\n".join(wrapped(line) for line in panel.panel.title.split("\n"))


def draw_band(ax: Any, panel: PanelCurves, method: str, axis: str, top: float) -> None:
    """Median with markers, between the lowest and highest run a band; arrows where it is cut."""
    color, marker, line = DASHES[method]
    across, band = panel.band(method, axis)
    here = (across > 0) | (axis != "seconds")
    above = here & ~(band[1] <= top)
    shown = here & np.all(np.isfinite(band), axis=0)
    band = np.minimum(band, 1e3 * top)  # scales of hundreds of decades break the drawing
    ax.fill_between(across[shown], band[0, shown], band[2, shown], color=color, alpha=0.2,
                    linewidth=0)  # fmt: skip
    ax.plot(
        across[shown], band[1, shown], color=color, linestyle=line, marker=marker,
        label=LABELS[method], markevery=max(1, int(shown.sum()) // 6),
    )  # fmt: skip
    mark_cut(ax, across[above], color)


@styled
def save(figure: Any, folder: Path, name: str, legend_from: Any = None) -> list[Path]:
    """Write PNG and SVG, whole or not at all, with one legend below all panels."""
    from matplotlib import pyplot

    if legend_from is not None:
        handles, labels = legend_from.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.get_layout_engine().execute(figure)  # laid out once, for both files:
    figure.set_layout_engine(None)  # with any engine, every file is drawn twice
    paths = []
    for suffix in ("png", "svg"):
        path = folder / f"{name}.{suffix}"
        metadata = {"Date": None} if suffix == "svg" else None
        with replacing(path) as stream:
            figure.savefig(stream, format=suffix, dpi=200, metadata=metadata)
        paths.append(path)
    pyplot.close(figure)
    return paths
