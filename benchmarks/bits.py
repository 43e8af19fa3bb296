"""Same seed, same bits: digests of what every method answers, kept before a change, compared after.

Bits depend on the processor and on Numba, so digests are no test: they are written by the code as
it was and compared with the code as it is, on one machine.

    python benchmarks/bits.py --save before.json
    python benchmarks/bits.py --compare before.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1

LOOKS = 6  # evaluations before a run is stopped: how many passes these take is not part of it
FOREVER = 1e12
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
NETS = {
    "l2": spd1.ElasticNet(l2=0.01),
    "l1": spd1.ElasticNet(l1=0.01),
    "elastic box": spd1.ElasticNet(l1=0.005, l2=0.02, lower=-0.3, upper=0.5),
}
TILES: dict[str, tuple[Any, ...]] = {"spd1": (None, "auto"), "spd1-vr": (None, "auto")}
SHAPES = {"tall": (90, 30), "wide": (40, 110)}


def data(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sparse-looking data, labels that a model explains in part, weights."""
    rng = np.random.default_rng(shape)
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.4)
    b = np.sign(A @ rng.standard_normal(shape[1]) + 0.5 * rng.standard_normal(shape[0]))
    return A, np.where(b == 0.0, 1.0, b), rng.random(shape[0])


def digest(result: Any) -> str:
    """A short name for the bits of x, y and the gap."""
    return hashlib.sha256(
        result.x.tobytes() + result.y.tobytes() + np.float64(result.gap).tobytes()
    ).hexdigest()[:16]


def runs() -> Iterator[tuple[str, str]]:
    """Name and digest of every combination that its method takes."""
    methods = ["rows", "columns", "spd1-vr", "spd1", "psgd", "svrg", "saga"]
    for method in [*methods, "newton", "few-rows", "auto"]:
        for shape_name, shape in SHAPES.items():
            A, b, weight = data(shape)
            for layout, convert in LAYOUTS.items():
                for loss in ("logistic", "squared", "hinge"):
                    for net_name, net in NETS.items():
                        sample_weight = weight if layout in ("rows", "csr") else None
                        problem = spd1.Problem(convert(A), b, loss, net, sample_weight)
                        for tile in TILES.get(method, (None,)):
                            name = "/".join((method, shape_name, layout, loss, net_name, str(tile)))
                            yield name, one_run(problem, method, tile)


def one_run(problem: Any, method: str, tile: Any) -> str:
    """The digest of a run that is stopped after so many looks, or why there is none."""
    looks = 0

    def enough(row: Any) -> bool:
        nonlocal looks
        looks += 1
        return looks >= LOOKS

    try:
        found = spd1.solve(
            problem, method, tol=1e-10, max_passes=FOREVER, tile=tile, callback=enough
        )
    except spd1.IncompatibleError:
        return "refused"
    return digest(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--save", type=Path, help="write the digests")
    group.add_argument("--compare", type=Path, help="compare with digests written before")
    options = parser.parse_args()
    found = dict(runs())
    if options.save:
        options.save.write_text(json.dumps(found, indent=0))
        print(f"{len(found)} digests in {options.save}")
        return
    before = json.loads(options.compare.read_text())
    names = before.keys() | found.keys()
    changed = sorted(name for name in names if before.get(name) != found.get(name))
    by_method: dict[str, list[int]] = {}
    for name in names:
        counts = by_method.setdefault(name.split("/")[0], [0, 0])
        counts[name in changed] += 1
    for method, (same, other) in sorted(by_method.items()):
        print(f"{method:10s} {same:4d} the same, {other:4d} not")
    print("\n".join(changed[:40]))
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
