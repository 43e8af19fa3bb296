"""Data sets: the paper's synthetic one, and those of the LIBSVM collection by name."""

from __future__ import annotations

from .fetch import OfflineError, cache_folder, fetch, find, load
from .registry import COLLECTION, DataSet
from .synthetic import make_synthetic

__all__ = [
    "COLLECTION",
    "DataSet",
    "OfflineError",
    "cache_folder",
    "fetch",
    "find",
    "load",
    "make_synthetic",
]
