"""Where commands write: refused before any work starts if that can't be done."""

from __future__ import annotations

from pathlib import Path

from ..errors import ParameterError, install
from ..files import check_writable
from .asked import refuse_options

__all__ = ["check_picture", "check_places", "model_place", "need_matplotlib", "refuse_same"]

PICTURES = (".png", ".svg", ".pdf", ".jpg")


def stem(path: Path) -> str:
    """The name of a data file without folder and suffixes."""
    name = path.name
    for suffix in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(suffix)
    return Path(name).stem or "model"


def model_place(output: Path | None, data: Path, no_save: bool) -> Path | None:
    """Where the model goes; None if it is not wanted."""
    if no_save:
        refuse_options(["--output"], "with --no-save nothing is written: choose one")
        return None
    return output or Path(stem(data) + ".spd1")


def refuse_same(places: dict[str, Path | None]) -> None:
    """Refuse to write two things to one file: the second would replace the first.

    Examples
    --------
    >>> refuse_same({"--output": Path("a.spd1"), "--plot": Path("a.png"), "--csv": None})
    """
    seen: dict[Path, str] = {}
    for option, place in places.items():
        if place is None:
            continue
        other = seen.setdefault(place.resolve(), option)
        if other != option:
            raise ParameterError(f"{other} and {option} are both {place}: name two files")


def check_places(place: Path | None, plot: Path | None, force: bool, data: Path) -> None:
    """Refuse files that can't be written, before any work starts; ``data`` stays as it is."""
    if place is not None:
        check_writable(place, force, [data])
    if plot is not None:
        check_picture(plot, force, data)


def check_picture(path: Path, force: bool, data: Path) -> None:
    """Refuse a picture that can't be written or drawn before any work starts."""
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(f"{path}: name a picture with the suffix {' or '.join(PICTURES)}")
    check_writable(path, force, [data])
    need_matplotlib()


def need_matplotlib() -> None:
    """Say which extra draws pictures, before any work starts."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(install("pictures need matplotlib", "plot")) from None
