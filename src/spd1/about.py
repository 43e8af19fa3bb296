"""Versions of all that computes: what a report of a bug needs."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .engines.choose import available_cores
from .version import __version__

__all__ = ["environment", "show_versions"]

NEEDED = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "threadpoolctl", "typer", "rich")
OPTIONAL = ("matplotlib", "pandas", "pyarrow", "dask", "distributed", "pooch", "zarr", "skl2onnx")
SETTINGS = ("SPD1_", "NUMBA_", "OMP_", "MKL_", "OPENBLAS_")


def environment() -> dict[str, dict[str, Any]]:
    """The same as a dict of dicts: system, packages, optional packages, settings."""
    settings = {k: v for k, v in sorted(os.environ.items()) if k.startswith(SETTINGS)}
    return {
        "system": {
            "spd1": __version__,
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": available_cores(),
            "kernels": _kernel_folder(),
        },
        "packages": {name: _version(name) for name in NEEDED},
        "optional": {name: _version(name) for name in OPTIONAL},
        "settings": settings,
    }


def show_versions() -> None:
    """Print versions of spd1, Python, the system and all packages in use.

    Examples
    --------
    >>> import spd1
    >>> spd1.show_versions()  # doctest: +ELLIPSIS
    system
      spd1 ...
    """
    for title, rows in environment().items():
        if rows:
            print(title)
            for name, value in rows.items():
                print(f"  {name:<15s} {value}")


def _kernel_folder() -> str:
    from .kernel.cache import own_cache  # brings Numba

    found = own_cache(environment)
    return "compiled anew in every process" if found is None else str(Path(found.folder).parent)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
