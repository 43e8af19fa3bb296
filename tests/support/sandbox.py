"""The package in processes of their own, with a cache of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import spd1

PACKAGE = Path(spd1.__file__).parent

CERTIFY = """
import numpy as np, spd1
A = np.arange(12.0).reshape(4, 3) / 10
problem = spd1.Problem(A, [1.0, -1.0, 1.0, -1.0], {loss}, spd1.L2(0.1))
print(repr(spd1.certify(np.ones(3), problem).gap))
"""


class Sandbox:
    """Runs scripts against a copy of the package, whose files a test may touch."""

    def __init__(self, root):
        self.root, self.cache, self.package = root, root / "cache", root / "spd1"
        without = shutil.ignore_patterns("__pycache__", "_kernels")
        shutil.copytree(PACKAGE, self.package, ignore=without)

    def run(self, script, **more):
        """Return what the script prints, and what it says on stderr."""
        drop = ("SPD1_QUIET", "PYTHONPATH", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
        env = {name: value for name, value in os.environ.items() if name not in drop}
        env |= {"PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(self.cache)} | more
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, cwd=self.root, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    def machine_code(self):
        """The files of the cache with their dates."""
        return {path: path.stat().st_mtime_ns for path in self.cache.rglob("*.nb[ci]")}
