"""How long a user waits for the first answer: import, first fits ever, first fits of a process.

Every number is a fresh process on one core. "Ever" starts with an empty cache of kernels, "on
disk" finds what the process before it has compiled. Goals, without kernels in the wheel: 3 s for
the dense fit, 4 s for the sparse one, 20 s for the thirteen estimators of spd1.linear_model.

Run: python benchmarks/cold_start.py [--verbose] [--shipped]
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
BASELINE, IMPORT = TIMED.format("numpy, scipy.sparse"), TIMED.format("numpy, scipy.sparse, spd1")

# The clock starts when all is imported; Numba is loaded by the first kernel, and counts.
START = """
import json, sys, time, warnings
import numpy as np, scipy.sparse as sp, sklearn.linear_model
from spd1 import linear_model as lm
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
A = rng.standard_normal((200, 20))
margin = A @ rng.standard_normal(20) + 0.5 * rng.standard_normal(200)
labels = np.where(margin > 0, 1.0, -1.0)
S = sp.random_array((200, 20), density=0.1, format="csr", rng=rng, data_sampler=rng.standard_normal)
start = time.perf_counter()
"""

DENSE = "lm.LogisticRegression().fit(A, labels)\n"
SPARSE = "lm.LogisticRegression().fit(S, labels)\n"
THIRTEEN = """
for name in ("LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier"):
    getattr(lm, name)().fit(A, labels)
for name in ("Ridge", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "HuberRegressor",
             "LinearSVR", "QuantileRegressor"):
    getattr(lm, name)().fit(A, margin)
lm.PoissonRegressor().fit(A, np.floor(np.exp(0.3 * margin)))
"""

END = """
took = time.perf_counter() - start
print(json.dumps([took, compiled]))
"""

# What Numba says of itself: when a kernel begins and ends to be compiled. Helpers are inside.
LISTEN = """
compiled = []
if {listen}:
    from numba.core import event

    class Stopwatch(event.Listener):
        depth = 0
        def on_start(self, event):
            if self.depth == 0:
                self.began = time.perf_counter()
            self.depth += 1
        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0:
                function = event.data["dispatcher"].py_func
                seconds = time.perf_counter() - self.began
                kinds = sorted(found(event.data["args"]))
                compiled.append((seconds, function.__module__ + "." + function.__name__, kinds))

    def found(types):
        kinds = set()
        for t in types:
            cls = getattr(t, "instance_class", None)
            if cls is not None:
                kinds |= {{cls.__name__}} | found(t)
        return kinds

    event.register("numba:compile", Stopwatch())
"""

TASKS = {
    "first dense fit (200 x 20)": DENSE,
    "first sparse fit (200 x 20)": SPARSE,
    "thirteen estimators": THIRTEEN,
}
DEAREST = 10


def run(code: str, cache: str, shipped: bool) -> str:
    """What a fresh process on one core prints."""
    alone = {"NUMBA_CACHE_DIR": cache, "SPD1_QUIET": "1", "OMP_NUM_THREADS": "1",
             "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
    if not shipped:
        alone["SPD1_SHIPPED"] = "0"
    one_core = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    command = [sys.executable, "-c", (one_core if sys.platform == "linux" else "") + code]
    environment = {**os.environ, **alone}
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def fit(code: str, cache: str, shipped: bool, listen: bool) -> tuple[float, list]:
    """Seconds of the fits, and the kernels that were compiled meanwhile."""
    whole = START.replace("start =", LISTEN.format(listen=listen) + "start =") + code + END
    return json.loads(run(whole, cache, shipped))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="processes that only import")
    parser.add_argument("--verbose", action="store_true", help="the ten dearest kernels of a task")
    parser.add_argument("--shipped", action="store_true", help="use kernels that came in the wheel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        base, ours = (
            statistics.median(
                float(run(code, cache, options.shipped)) for _ in range(options.repeats)
            )
            for code in (BASELINE, IMPORT)
        )
    print(f"import spd1, beyond numpy and scipy    {ours - base:7.3f} s")
    for name, code in TASKS.items():
        with tempfile.TemporaryDirectory() as cache:
            ever, compiled = fit(code, cache, options.shipped, options.verbose)
            again, _ = fit(code, cache, options.shipped, False)
        print(f"{name}, ever".ljust(38), f"{ever:7.3f} s")
        print(f"{name}, on disk".ljust(38), f"{again:7.3f} s", flush=True)
        if options.verbose:
            spent = sum(seconds for seconds, *_ in compiled)
            print(f"    {len(compiled)} kernels compiled in {spent:.1f} s; the dearest:")
            for seconds, kernel, kinds in sorted(compiled, reverse=True)[:DEAREST]:
                print(f"    {seconds:6.2f} s  {kernel}  {' '.join(kinds)}")


if __name__ == "__main__":
    main()
