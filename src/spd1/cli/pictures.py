"""Pictures as files: drawn without a screen, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..files import replacing

__all__ = ["picture"]


@contextmanager
def picture(place: Path) -> Iterator[Any]:
    """Axes to draw on; what is drawn is in the file at the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7.6, 4.6), layout="constrained")
    try:
        yield ax
        with replacing(place) as stream:
            figure.savefig(stream, format=place.suffix[1:].lower(), dpi=150)
    finally:
        pyplot.close(figure)
