"""Machine code on disk: a convenience that must never do harm.

Whatever is wrong with a file of the cache (cut off, overwritten, unreadable, a folder), the kernel
is compiled again and the file replaced. Every file begins with a checksum: Numba's own would be
unpickled as they are, and damaged machine code be run.

A kernel is looked for in the user's cache, then among those that came with the package.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .announce import TALLY, readable
from .patience import collector_at_rest
from .pipelines import cuts_if_known
from .shipped import DESTINATION, file_name, shipped
from .stamp import foreign_class, stamp_of

__all__ = ["CheckedCache", "PackageCache"]

SUM_BYTES = hashlib.sha256().digest_size
SOURCE_TEXT = 6  # where CompileResult._reduce puts the source, with the builder's file names


class CheckedFiles(IndexDataCacheFile):
    """The index and the data files of one kernel, with checksums."""

    def load(self, key: Any) -> Any:
        """The data of a key; None if it is not there or not what was written."""
        name = self._load_index().get(key)
        if name is None:
            return None
        try:
            label, data = self.read(self._data_path(name))
        except Exception:  # damaged pickles raise anything
            return None
        return data if label == self.label(key) else None

    def save(self, key: Any, data: Any) -> None:
        """Write the data before the index that names it: a kill between them leaves no lie.

        Files are named after types and processor, not by number: processes that compile at the same
        time don't overwrite each other's. What an earlier state of the package has written there
        is replaced.
        """
        types = hashlib.sha256(repr(key[:2]).encode()).digest()
        name = self._data_name(int.from_bytes(types[:4], "big"))
        self.write(self._data_path(name), (self.label(key), data))
        others = {one: file for one, file in self._load_index().items() if file != name}
        self._save_index(others | {key: name})

    def _load_index(self) -> dict[Any, str]:
        try:
            label, overloads = self.read(self._index_path)
        except Exception:  # damaged pickles raise anything
            return {}
        return overloads if label == self.label() and isinstance(overloads, dict) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self.write(self._index_path, (self.label(), overloads))

    def label(self, key: Any = None) -> tuple[Any, ...]:
        """What a file is about: Numba's key is the same for functions with other constants."""
        return self._version, self._source_stamp, self._index_name, repr(key)

    def read(self, path: str) -> Any:
        with open(path, "rb") as stream:
            wanted, content = stream.read(SUM_BYTES), stream.read()
        if hashlib.sha256(content).digest() != wanted:
            raise ValueError(f"{path} is not what was written")
        return pickle.loads(content)

    def write(self, path: str, value: Any) -> None:
        """Replace a file, whole or not at all."""
        content = self._dump(value)
        part = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
        try:
            with open(part, "wb") as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            if os.path.isdir(path):
                os.rmdir(path)  # an empty one; any other stays, and nothing is kept
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise


class CheckedCache(NullCache):
    """The kernels of one function in one folder, for the processor they are compiled for.

    Parameters
    ----------
    function : callable
    folder, base : str
        Where its files are, and what their names begin with.
    built_for : tuple, optional
        The processor, as Numba names it, if it is another than the one Numba compiles for now.
    """

    def __init__(
        self, function: Callable[..., Any], folder: str, base: str, built_for: Any = None
    ) -> None:
        self.function, self.folder, self.built_for = function, folder, built_for
        versions = numba.__version__, llvmlite.__version__
        self.files = CheckedFiles(folder, base, versions)

    @property
    def cache_path(self) -> str:
        return self.folder

    def key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Types, processor, and what the kernel is made of.

        Numba dates a kernel by its own file alone, so an edited loss would go unnoticed.
        """
        cells = [cell.cell_contents for cell in self.function.__closure__ or ()]
        own = hashlib.sha256(self.function.__code__.co_code)
        own.update(dumps(tuple(cells)) if cells else b"")
        processor = self.built_for or codegen.magic_tuple()
        return sig, processor, own.hexdigest(), stamp_of(self.function, sig)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None."""
        try:
            with collector_at_rest(), cuts_if_known():
                target_context.refresh()  # the first time, Numba imports what it knows of NumPy
            data = self.files.load(self.key(sig, target_context.codegen()))
            return None if data is None else CompileResult._rebuild(target_context, *data)
        except Exception:  # of another Numba than it says, for one
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel, if the disk takes it: it is compiled and works either way."""
        if data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
            return
        with suppress(OSError, pickle.PickleError):
            os.makedirs(self.folder, exist_ok=True)
            reduced = list(data._reduce())
            if DESTINATION in os.environ:
                reduced[SOURCE_TEXT] = ""
            self.files.save(self.key(sig, data.codegen), tuple(reduced))

    def flush(self) -> None:
        self.files.flush()


def own_cache(function: Callable[..., Any]) -> CheckedCache | None:
    """Where new kernels of a function go; None where no folder can be written to."""
    into = os.environ.get(DESTINATION)
    if into:
        return CheckedCache(function, into, file_name(function))
    try:
        usual = CompileResultCacheImpl(function)
    except (RuntimeError, OSError):  # written at the prompt, or nothing can be written
        return None
    return CheckedCache(function, usual.locator.get_cache_path(), usual.filename_base)


def shipped_cache(function: Callable[..., Any]) -> CheckedCache | None:
    """Where a function's kernels that came with the package are; None if there are none."""
    found = None if os.environ.get(DESTINATION) else shipped()
    if found is None:
        return None
    folder, processor = found
    base = file_name(function)
    if not Path(folder, f"{base}.nbi").is_file():
        return None
    return CheckedCache(function, folder, base, processor)


class PackageCache(NullCache):
    """The user's kernels, then those of the package; users' classes are left out.

    An index that names a user's class can't be read by a process that lacks the user's module.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.own, self.shipped = own_cache(function), shipped_cache(function)

    @property
    def cache_path(self) -> str | None:
        return self.own.cache_path if self.own else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None; then it is going to be compiled, and that is said."""
        foreign = foreign_class(sig)
        for place in () if foreign else (self.own, self.shipped):
            found = place.load_overload(sig, target_context) if place else None
            if found is not None:
                TALLY.load()
                return found
        TALLY.begin(readable(self.function.__name__, sig), foreign, self.own is not None)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        TALLY.end()
        if self.own and not foreign_class(sig):
            self.own.save_overload(sig, data)

    def flush(self) -> None:
        if self.own:
            self.own.flush()
