"""Kernels that come with the package, compiled for a level of processors instead of one.

``spd1 warm-up --into FOLDER`` compiles them, ``make wheel`` puts them into the wheel. They are used
where Python, Numba and llvmlite are those they were built with and the processor has what they
ask for; elsewhere kernels are compiled as if there were none.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .stamp import ROOT

__all__ = ["builder_environment", "shipped", "write_manifest"]

DESTINATION = "SPD1_KERNELS_INTO"  # environment: kernels go into this folder, for others to use
SHIPPED = "SPD1_SHIPPED"  # environment: 0 leaves the package's own kernels alone
FOLDER = ROOT / "_kernels"
MANIFEST = "manifest.json"

# What the level asks for by LLVM's names: processors since 2013 (Intel) and 2015 (AMD).
X86_64_V3 = (
    "64bit avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 "
    "sse4.1 sse4.2 ssse3 xsave"
)
# Machine -> what LLVM is told to compile for; other machines: what all of their kind have.
LEVELS = {"x86_64": ("x86-64-v3", X86_64_V3), "AMD64": ("x86-64-v3", X86_64_V3)}


def builder_environment(folder: Path) -> dict[str, str]:
    """Variables for a process whose kernels others will use."""
    name, features = LEVELS.get(platform.machine(), ("generic", ""))
    return {
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": ",".join(f"+{one}" for one in features.split()),
        "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that others may not have
        DESTINATION: str(folder.absolute()),
    }


def file_name(function: Callable[..., Any]) -> str:
    """What the names of a kernel's files begin with: the same on every machine."""
    line = function.__code__.co_firstlineno
    version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    return f"{function.__module__}.{function.__qualname__}-{line}.{version}"


def versions() -> dict[str, str]:
    """What must be the same where kernels are built and where they are used."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    return {
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "triple": llvm.get_process_triple(),
    }


def write_manifest(folder: Path) -> None:
    """Say beside the kernels what they were built with and for."""
    environment = builder_environment(folder)
    about = versions() | {
        "processor": environment["NUMBA_CPU_NAME"],
        "features": environment["NUMBA_CPU_FEATURES"],
    }
    (folder / MANIFEST).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


@cache
def shipped(folder: Path = FOLDER) -> tuple[str, tuple[str, str, str]] | None:
    """Folder and processor, as Numba names it, of kernels that this process can run, or None."""
    if os.environ.get(SHIPPED) == "0" or not (folder / MANIFEST).is_file():
        return None
    try:
        about = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        here = versions()
        if any(about[name] != value for name, value in here.items()):
            return None
        if not _processor_has(about["processor"], about["features"]):
            return None
        return str(folder), (about["triple"], about["processor"], about["features"])
    except Exception:  # damaged, or a processor that LLVM does not know
        return None


def _processor_has(name: str, features: str) -> bool:
    """Whether this processor can run what was built for these features, and the user lets it.

    A processor that the user names restricts nothing by itself: Numba then compiles with the
    features of this one. ``generic``, or features that leave one out, are meant.
    """
    import llvmlite.binding as llvm
    from numba.core import config

    asked, only = (getattr(config, one, None) for one in ("CPU_NAME", "CPU_FEATURES"))
    if asked == "generic" and name != asked:
        return False
    has = llvm.get_host_cpu_features()
    wanted = [one for one in features.split(",") if one]
    named = None if only is None else {one.strip() for one in str(only).split(",")}
    return all(
        has.get(one.lstrip("+"), False) and (named is None or one in named) for one in wanted
    )
