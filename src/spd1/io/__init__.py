"""Files: LIBSVM text, CSV, Parquet, NPZ and NPY data, and model files."""

from __future__ import annotations

from .data import libsvm_to_npz, read_data, write_data
from .files import Data
from .libsvm import iter_libsvm, read_libsvm, write_libsvm
from .model import Model, fit_model
from .model_file import load_model, save_model

__all__ = [
    "Data",
    "Model",
    "fit_model",
    "iter_libsvm",
    "libsvm_to_npz",
    "load_model",
    "read_data",
    "read_libsvm",
    "save_model",
    "write_data",
    "write_libsvm",
]
