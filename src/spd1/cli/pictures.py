"""Pictures of a path of coefficients, and of a cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..files import replacing

__all__ = ["draw_cv", "draw_path"]

NAMED_CURVES = 10  # coefficients of a path that are called by name
GREY, BLUE, ORANGE = "#9a9a9a", "#0072B2", "#D55E00"


def _figure() -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7.6, 4.6), layout="constrained")
    return figure, ax


def _save(figure: Any, place: Path) -> None:
    from matplotlib import pyplot

    with replacing(place) as stream:
        figure.savefig(stream, format=place.suffix[1:].lower(), dpi=150)
    pyplot.close(figure)


def draw_path(found: Any, names: list[str], place: Path, title: str) -> None:
    """Coefficients against alpha, the strongest penalty left; the largest ones by name."""
    figure, ax = _figure()
    order = np.argsort(-np.abs(found.coefs[-1]), kind="stable")
    for rank, j in reversed(list(enumerate(order))):
        line = found.coefs[:, j]
        if not np.any(line):
            continue
        named = rank < NAMED_CURVES
        style = {"color": f"C{rank}", "lw": 1.6} if named else {"color": GREY, "lw": 0.6}
        label = names[j] if named else None
        ax.plot(found.alphas, line, label=label, **style)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.axhline(0.0, color="black", lw=0.6)
    ax.set(xlabel="alpha: strength of the penalty", ylabel="coefficient", title=title)
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        ax.legend(
            handles[::-1], labels[::-1], frameon=False, fontsize=8, loc="center left",
            bbox_to_anchor=(1.0, 0.5), title="largest at the end", title_fontsize=8,
        )  # fmt: skip
    _save(figure, place)


def draw_cv(
    alphas: np.ndarray, scores: np.ndarray, best: int, modest: int, name: str, place: Path,
    title: str,
) -> None:  # fmt: skip
    """Mean score and its standard error against alpha; what both rules take."""
    figure, ax = _figure()
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    ax.plot(alphas, scores.T, color=GREY, lw=0.5)
    ax.errorbar(alphas, mean, error, color=BLUE, lw=1.6, capsize=2, label="mean and standard error")
    ax.axhline(mean[best] - error[best], color=ORANGE, lw=0.8, ls=":")
    ax.axvline(alphas[best], color=ORANGE, lw=1.2, label=f"best: {alphas[best]:.3g}")
    ax.axvline(alphas[modest], color=ORANGE, lw=1.2, ls="--",
               label=f"one standard error: {alphas[modest]:.3g}")  # fmt: skip
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set(xlabel="alpha: strength of the penalty", ylabel=f"{name} of rows left out", title=title)
    ax.legend(frameon=False, fontsize=8)
    _save(figure, place)
