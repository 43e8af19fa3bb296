"""Machine code on disk: a convenience that must never do harm.

Whatever is wrong with a file of the cache (cut off, overwritten, unreadable, a folder), the kernel
is compiled again and the file replaced. Every file begins with a checksum: Numba's own would be
unpickled as they are, and damaged machine code be run.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["CheckedCache"]

SUM_BYTES = hashlib.sha256().digest_size


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
        time don't overwrite each other's.
        """
        types = hashlib.sha256(repr(key[:2]).encode()).digest()
        name = self._data_name(int.from_bytes(types[:4], "big"))
        self.write(self._data_path(name), (self.label(key), data))
        self._save_index(self._load_index() | {key: name})

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


class CheckedCache(FunctionCache):
    """Numba's cache of one function on checked files; without a disk it is no cache."""

    def __init__(self, function: Callable[..., Any], package_stamp: Any) -> None:
        super().__init__(function)
        own_file = self._impl.locator.get_source_stamp()  # a kernel may live in a user's file
        stamp = [package_stamp, own_file]
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of another Numba than it says, for one
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel, if the disk takes it: it is compiled and works either way."""
        with suppress(OSError, pickle.PickleError):
            super().save_overload(sig, data)
