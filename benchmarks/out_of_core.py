"""A store larger than the memory that a process may have, fitted to a certified gap.

    python benchmarks/out_of_core.py [--gb 8] [--sparse] [--loss hinge] [--folder /big/disk]

The store is written tile by tile, fitted in a process of its own under a cap on its address space
(RLIMIT_AS: files that are mapped count, too), and deleted. Under the same cap the process first
asks for as much memory as the data takes, and must be refused. Times are given as multiples of
reading the store once a pass: cold, from disk, and warm, from what the system keeps of files in
memory that no process owns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1

SHOWN = ("VmPeak", "VmHWM")
BLOCK = 2**25  # bytes that are generated at a time


def blocks(options: argparse.Namespace, rows: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows and labels of a linear model with noise, block by block."""
    d = options.columns
    truth = np.random.default_rng(0).standard_normal(d)
    a_row = options.entries * 12 if options.sparse else 8 * d
    step = max(1, BLOCK // a_row)
    for first in range(0, rows, step):
        rng, count = np.random.default_rng([1, first]), min(step, rows - first)
        A: Any
        if options.sparse:
            popular = (d * rng.random((count, options.entries)) ** 3).astype(np.int32)
            values = rng.standard_normal(popular.size)
            ends = np.arange(0, popular.size + 1, options.entries)
            A = sp.csr_array((values, popular.ravel(), ends), shape=(count, d))
            A.sum_duplicates()
        else:
            A = rng.standard_normal((count, d))
        size = np.sqrt(options.entries if options.sparse else d)
        b = np.sign(A @ truth + size * rng.standard_normal(count))
        yield A, np.where(b == 0.0, 1.0, b)


def build(path: Path, options: argparse.Namespace) -> float:
    a_row = options.entries * 12 if options.sparse else 8 * options.columns
    rows = int(options.gb * 2**30 / a_row)
    start = time.perf_counter()
    spd1.write_store(path, blocks(options, rows), tile_mb=options.tile_mb)
    return time.perf_counter() - start


def forget(path: Path) -> None:
    """Ask the system to drop what it keeps of the files."""
    for file in path.iterdir():
        with file.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_once(path: Path) -> float:
    start = time.perf_counter()
    room = bytearray(2**24)
    for file in sorted(path.glob("tile-*")):
        with file.open("rb", buffering=0) as stream:
            while stream.readinto(room):
                pass
    return time.perf_counter() - start


def fit(path: str, loss: str, l1: float, l2: float, tol: float, cap_mb: int) -> dict[str, Any]:
    """What the child does: fit under the cap."""
    if cap_mb:
        resource.setrlimit(resource.RLIMIT_AS, (cap_mb * 2**20, cap_mb * 2**20))
    store = spd1.open_store(path)
    refused = False
    try:
        np.ones(store.nbytes, dtype=np.uint8)
    except MemoryError:
        refused = True
    start = time.perf_counter()
    problem = spd1.Problem(store, loss=loss, reg=spd1.ElasticNet(l1=l1, l2=l2))
    result = spd1.solve(problem, tol=tol)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status
             if line.startswith(SHOWN)}  # fmt: skip
    return {"status": result.status, "method": result.method, "rel_gap": result.rel_gap,
            "passes": result.passes, "seconds": seconds, "refused": refused} | sizes  # fmt: skip


def child(path: Path, options: argparse.Namespace, cap_mb: int) -> dict[str, Any]:
    arguments = [path, options.loss, options.l1, options.l2, options.tol, cap_mb]
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps([str(a) for a in arguments])],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--entries", type=int, default=50, help="of a sparse row")
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--l1", type=float, default=0.0)
    parser.add_argument("--l2", type=float, default=1e-4)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--cap-mb", type=int, default=1024)
    parser.add_argument("--tile-mb", type=float, default=64.0)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--child", default=None)
    options = parser.parse_args()
    if options.child:
        path, loss, *numbers, cap = json.loads(options.child)
        print(json.dumps(fit(path, loss, *map(float, numbers), int(cap))))
        return
    folder = Path(tempfile.mkdtemp(prefix="out-of-core-", dir=options.folder))
    free = shutil.disk_usage(folder).free / 2**30
    if free < 1.2 * options.gb + 1:
        folder.rmdir()
        raise SystemExit(f"{options.gb:g} GB do not fit: {free:.1f} GB are free in {folder.parent}")
    try:
        measure(folder, options)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, options: argparse.Namespace) -> None:
    small = argparse.Namespace(**{**vars(options), "gb": 0.004, "tile_mb": 1.0})
    build(folder / "small.store", small)
    child(folder / "small.store", options, 0)  # compiles
    path = folder / "large.store"
    print(f"written in {build(path, options):.1f} s: {spd1.open_store(path)}")
    forget(path)
    cold, warm = read_once(path), read_once(path)
    print(f"reading it once: {cold:.1f} s cold, {warm:.1f} s warm")
    forget(path)
    found = child(path, options, options.cap_mb)
    print(f"RLIMIT_AS {options.cap_mb} MB; memory for the data refused: {found['refused']}; "
          f"peak address space {found['VmPeak']:.0f} MB, peak resident "
          f"{found['VmHWM']:.0f} MB, mapped files included")  # fmt: skip
    print(f"{found['status']} by {found['method']}: relative gap {found['rel_gap']:.1e}")
    passes, seconds = found["passes"], found["seconds"]
    print(f"{seconds:.1f} s, {passes:.1f} passes, {seconds / passes:.2f} s a pass: "
          f"{seconds / (passes * cold):.2f} times a cold reading a pass, "
          f"{seconds / (passes * warm):.2f} times a warm one")  # fmt: skip


if __name__ == "__main__":
    main()
