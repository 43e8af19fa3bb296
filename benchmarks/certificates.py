"""What certificates cost: their share of the time of whole fits to a relative gap of 1e-6.

    python benchmarks/certificates.py [--data FOLDER] [--only REGEX] [--tol 1e-6]

Counted is what is computed for the certificate alone: the values and the gap of each look, the
products that a method would not need otherwise, and the last product that confirms sums which were
kept up to date. The full gradient of Newton's method is not: the working set is chosen by it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spd1
from race import one_thread
from race_problems import Shelf, all_specs
from spd1.loop.run import Run
from spd1.solvers.newton.faces.dual import DualFace
from spd1.solvers.newton.faces.primal import PrimalFace, TallFace
from spd1.solvers.newton.faces.span import GramFace
from spd1.solvers.newton.few_rows import FewRows
from spd1.solvers.rows.rows import RowTiles


class Meter:
    """Seconds spent in wrapped functions, nested calls counted once."""

    def __init__(self) -> None:
        self.seconds, self.depth = 0.0, 0

    def wrap(self, owner: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            self.depth += 1
            clock = time.perf_counter()
            try:
                return inner(*arguments, **named)
            finally:
                self.depth -= 1
                if self.depth == 0:
                    self.seconds += time.perf_counter() - clock

        setattr(owner, name, timed)


def share_of(one: Any, tol: float, meter: Meter, repeats: int = 7) -> tuple[float, float, str]:
    """Median share, median milliseconds, and the engine."""
    shares, times = [], []
    reg = spd1.ElasticNet(l1=one.l1, l2=one.l2)
    for _ in range(repeats + 1):
        meter.seconds, clock = 0.0, time.perf_counter()
        result = spd1.solve(spd1.Problem(one.A, one.b, one.loss, reg), tol=tol, max_seconds=20)
        total = time.perf_counter() - clock
        shares.append(meter.seconds / total)
        times.append(total)
    return statistics.median(shares[1:]), 1e3 * statistics.median(times[1:]), result.method


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of the LIBSVM files (default: SPD1_DATA)")
    parser.add_argument("--cache", default=str(Path(__file__).parent / "results" / "race-cache"))
    parser.add_argument("--only", default="synthetic-1000/|synthetic-1000$")
    parser.add_argument("--tol", type=float, default=1e-6)
    options = parser.parse_args()
    shelf, meter = Shelf(options.data, Path(options.cache)), Meter()
    for owner, name in (
        (PrimalFace, "pair"), (TallFace, "pair"), (DualFace, "pair"), (GramFace, "pair"),
        (RowTiles, "evaluated"), (FewRows, "evaluated"), (Run, "confirm"), (Run, "take"),
    ):  # fmt: skip
        meter.wrap(owner, name)
    shares = []
    for spec in all_specs():
        if not re.search(options.only, spec.name):
            continue
        try:
            one = shelf.instance(spec)
        except FileNotFoundError as problem:
            print(f"skipped: {problem}", file=sys.stderr)
            continue
        share, milliseconds, method = share_of(one, options.tol, meter)
        shares.append(share)
        print(f"{spec.name:42s} {100 * share:5.1f} % of {milliseconds:8.2f} ms   {method}")
    if shares:
        print(f"median {100 * statistics.median(shares):.1f} %, most {100 * max(shares):.1f} %")


if __name__ == "__main__":
    main()
