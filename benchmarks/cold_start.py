"""How long a user waits: import, first fit ever, first fit of a new process, second fit.

Each number is the median of fresh processes; the "first ever" ones start with an empty kernel
cache. Run: python benchmarks/cold_start.py
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
BASELINE, IMPORT = TIMED.format("numpy, scipy.sparse"), TIMED.format("spd1")
FIT = """
import time, json
t = time.perf_counter()
import numpy as np, spd1
imported = time.perf_counter()
rng = np.random.default_rng(0)
A = rng.normal(size=(62, 2000)); b = np.sign(A @ rng.normal(size=2000))
start = time.perf_counter()
spd1.solve(spd1.Problem(A, b, "logistic", spd1.L2(1.0)), {method!r}, tol=1e-3)
first = time.perf_counter()
spd1.solve(spd1.Problem(A, b, "logistic", spd1.L2(1.0)), {method!r}, tol=1e-3)
print(json.dumps(dict(first=first - start, second=time.perf_counter() - first)))
"""


def run(code: str, cache: str) -> str:
    environment = dict(os.environ, NUMBA_CACHE_DIR=cache, SPD1_QUIET="1")
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def median(code: str, cache: str, repeats: int) -> float:
    return statistics.median(float(run(code, cache)) for _ in range(repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--methods", default="spd1-vr,svrg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as warm:
        base = median(BASELINE, warm, options.repeats)
        ours = median(IMPORT, warm, options.repeats)
        print(f"import numpy, scipy.sparse         {base:6.3f} s")
        print(f"import spd1                        {ours:6.3f} s  ({ours - base:+.3f} s)")
        for method in options.methods.split(","):
            code = FIT.format(method=method)
            with tempfile.TemporaryDirectory() as empty:
                cold = json.loads(run(code, empty))
            run(code, warm)
            new = [json.loads(run(code, warm)) for _ in range(options.repeats)]
            first = statistics.median(one["first"] for one in new)
            second = statistics.median(one["second"] for one in new)
            print(f"{method}, 62 x 2000: first fit ever      {cold['first']:6.3f} s (compiles)")
            print(f"{method}, 62 x 2000: first in a process  {first:6.3f} s (kernels from disk)")
            print(f"{method}, 62 x 2000: second fit          {second:6.3f} s")


if __name__ == "__main__":
    main()
