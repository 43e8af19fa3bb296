"""Two versions of spd1 in turns on the problems of the race: what a change made slower.

Each version runs in a process of its own. They take turns, problem by problem and repeat by repeat,
so that a machine that slows down slows both; the minimum of the repeats counts. The first run of
each problem, which may compile, is not timed.

    git clone . /tmp/before && git -C /tmp/before checkout REVISION
    python benchmarks/before_after.py /tmp/before/src --data FOLDER --quick
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from race_problems import Shelf, all_specs

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def work(data: str, cache: Path) -> None:
    """Read names and accuracies, answer with seconds and with what ran."""
    import spd1

    shelf, specs = Shelf(data, cache), {spec.name: spec for spec in all_specs()}
    kept: dict[str, Any] = {}
    for line in sys.stdin:
        name, tol = line.split()
        if name not in kept:
            kept.clear()
            instance = shelf.instance(specs[name])
            kept[name] = (
                instance.columns if instance.l1 and instance.sparse else instance.A,
                instance,
            )
        A, one = kept[name]
        start = time.perf_counter()
        net = spd1.ElasticNet(l1=one.l1, l2=one.l2)
        found = spd1.solve(spd1.Problem(A, one.b, one.loss, net), tol=float(tol), max_seconds=20)
        seconds = time.perf_counter() - start
        sys.stdout.buffer.write(pickle.dumps((seconds, found.status, found.method.split(" (")[0])))
        sys.stdout.buffer.flush()


class Version:
    """A process that imports spd1 from one folder."""

    def __init__(self, source: Path, data: str, cache: Path) -> None:
        env = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(source)}
        command = [sys.executable, __file__, "--work", "--data", data, "--cache", str(cache), "x"]
        self.process: Any = subprocess.Popen(
            command, env={**env, "SPD1_QUIET": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, name: str, tol: float) -> tuple[float, str, str]:
        self.process.stdin.write(f"{name} {tol}\n".encode())
        self.process.stdin.flush()
        answer: tuple[float, str, str] = pickle.load(self.process.stdout)
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("before", type=Path, help="folder that holds the package spd1 as it was")
    add("--data", default=os.environ.get("SPD1_DATA", ""), help="folder of the LIBSVM files")
    add("--cache", type=Path, default=Path("benchmarks/results/race-cache"))
    add("--only", default="", help="regular expression on problem names")
    add("--quick", action="store_true", help="small data sets only")
    add("--repeats", type=int, default=7)
    add("--tols", default="1e-3,1e-6", help="relative gaps, with commas between")
    add("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.data, options.cache)
    options.cache.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).resolve().parents[1] / "src"
    versions = [
        Version(path.resolve(), options.data, options.cache) for path in (options.before, here)
    ]
    logs: dict[str, list[float]] = {}
    print(f"{'problem':34s}{'gap':>7s}{'before ms':>11s}{'after ms':>10s}{'ratio':>7s}")
    for spec in all_specs():
        if not re.search(options.only, spec.name) or (options.quick and spec.data.size != "small"):
            continue
        for tol in options.tols.split(","):
            best, said = [math.inf] * 2, [("", "")] * 2
            for repeat in range(options.repeats + 1):
                for k in (0, 1) if repeat % 2 else (1, 0):
                    seconds, *words = versions[k].run(spec.name, float(tol))
                    said[k] = (words[0], words[1])
                    best[k] = min(best[k], seconds) if repeat else math.inf
            ratio = best[0] / best[1]
            logs.setdefault(tol, []).append(math.log(ratio))
            changed = "" if said[0] == said[1] else f"  {said[0]} -> {said[1]}"
            times = f"{1e3 * best[0]:11.2f}{1e3 * best[1]:10.2f}{ratio:7.2f}"
            print(f"{spec.name:34s}{tol:>7s}{times}{changed}", flush=True)
    for tol, values in logs.items():
        slow = sum(value < math.log(0.9) for value in values)
        mean = math.exp(sum(values) / len(values))
        share = f"below 0.9 in {slow} of {len(values)}"
        print(f"to {tol}: before / after {mean:.2f} in geometric mean, {share}")
    return None


if __name__ == "__main__":
    main()
