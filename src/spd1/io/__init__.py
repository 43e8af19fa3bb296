"""Files: LIBSVM text, CSV, Parquet, NPZ and NPY data, and model files."""

from __future__ import annotations

from ..files import Data
from ..models.file import load_model, save_model
from ..models.model import Model, fit_model
from .data import libsvm_to_npz, read_data, write_data
from .libsvm import iter_libsvm, read_libsvm, write_libsvm
from .parts import Parts, read_parts

__all__ = [
    "Data",
    "Model",
    "Parts",
    "fit_model",
    "iter_libsvm",
    "libsvm_to_npz",
    "load_model",
    "read_data",
    "read_libsvm",
    "read_parts",
    "save_model",
    "write_data",
    "write_libsvm",
]
