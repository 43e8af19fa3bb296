"""Writing a folder whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..data.manifest import STORE_MANIFEST
from ..errors import DataError
from ..files import PART, part_prefix, remove_stale, saying_why

__all__ = ["check_folder", "replacing_folder"]

HERE, EXCHANGE = -100, 2  # of renameat2: names as they are, RENAME_EXCHANGE


def check_folder(path: str | Path, overwrite: bool = False) -> None:
    """Refuse a place for a store that can't be written to before any work starts."""
    path = Path(path)
    try:
        found: os.stat_result | None = path.stat()
    except FileNotFoundError:
        found = None
    except OSError as error:
        raise DataError(f"{path} can't be written: {error.strerror or error}") from None
    if found is not None:
        if not overwrite:
            raise DataError(
                f"{path} exists: name another folder, or allow overwriting with --force "
                "(overwrite=True)"
            )
        if not path.is_dir() or not ((path / STORE_MANIFEST).is_file() or not any(path.iterdir())):
            raise DataError(f"{path} is no store, and is left alone: name another folder")
        if not found.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise DataError(f"{path} can't be overwritten: it is write-protected")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise DataError(f"{path} can't be written: the folder {path.parent} does not exist")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path} can't be written: permission denied")


@contextmanager
def replacing_folder(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Fill a folder whole or not at all: a temporary one beside it, renamed at the end."""
    check_folder(path, overwrite)
    place = Path(os.path.realpath(path))
    with saying_why(Path(path)):
        remove_stale(place)
        name = tempfile.mkdtemp(prefix=part_prefix(place), suffix=PART, dir=place.parent)
    temporary = Path(name)
    try:
        with saying_why(Path(path)):
            yield temporary
            _sync(temporary)
            temporary.chmod(0o777 & ~_umask())
            _take_place(temporary, place)
            _sync(place.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _take_place(temporary: Path, place: Path) -> None:
    """Rename a folder over another, which goes only when the new one is there."""
    if not place.exists():
        temporary.rename(place)
        return
    if _exchanged(temporary, place):
        shutil.rmtree(temporary, ignore_errors=True)
        return
    before = temporary.with_name(temporary.name.removesuffix(PART) + ".before" + PART)
    place.rename(before)
    try:
        temporary.rename(place)
    except BaseException:
        before.rename(place)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders have changed places at once: Linux can, so that neither is ever gone."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(exchange(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def _sync(folder: Path) -> None:
    """Let the names of files reach the disk, where the system can be asked to."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
