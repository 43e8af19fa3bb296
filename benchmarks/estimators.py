"""Estimators against scikit-learn's at the same certified relative gap: milliseconds of one fit.

    python benchmarks/estimators.py [--only REGEX] [--gaps 1e-3,1e-6] [--seconds 10]
    python benchmarks/estimators.py --peers FILE [--sweep]         # sweeps kept in a file
    python benchmarks/estimators.py --only REGEX --save PART.json  # a piece of the table ...
    python benchmarks/estimators.py --merge PART.json ...          # ... and all pieces as one

One thread, with an intercept; both get the same arrays (rows in C order, or CSR). spd1 has tol =
the gap. scikit-learn's tol is swept from loose to tight, and the loosest whose model has at most
that gap by ``spd1.certify`` counts; of several solvers or intercept scalings the fastest counts.
max_iter is large; only where a tol is never met within the seconds, max_iter is swept instead.
The dual point that certifies its models comes from a tighter fit of spd1, so their gap is what is
left to gain; ours is the gap that the timed fit proves itself.

``--alone`` certifies scikit-learn's models without that dual point, by what follows from their own
coefficients: then both sides have proven the gap. (HuberRegressor: as before.)

At its default tol of 1e-6 an estimator of spd1 solves small data on to 1e-13. This race is about
equal gaps, so spd1 is asked for the next larger number, which ends where the gap is reached;
``--default`` leaves the default.

liblinear (LinearSVC, LinearSVR) penalises the intercept, spd1 does not. So there are two races:
the plain name asks for the objective with a free intercept, which liblinear comes near with a
large intercept_scaling; "+ones" gives both a column of ones and no intercept, where both minimise
the same objective exactly. Digits has ten classes, one against the rest on both sides.

Sweeps count processor time and can run on a busy machine: ``--sweep`` does nothing else. The table
has medians of wall time, both sides in turns: it wants an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from estimators_peers import Attempt, adjusted, sweep
from estimators_races import Race, point_of, races
from estimators_report import HEADER, Row, markdown, merged, summary
from race import one_thread

ROUNDS, BUDGET = (3, 15), 1.0  # timed fits of each side, seconds for them


def milliseconds(model: Any, X: Any, y: np.ndarray) -> float:
    clock = time.perf_counter()
    model.fit(X, y)
    return 1e3 * (time.perf_counter() - clock)


def in_turns(race: Race, models: list[Any]) -> list[float]:
    """Medians of warm fits, all in turns."""
    once = sum(milliseconds(one, race.X, race.y) for one in models) / 1e3  # warm from here
    fewest = ROUNDS[0] if len(models) > 1 else 1  # nobody to compare with
    rounds = min(max(int(BUDGET / once), fewest), ROUNDS[1])
    taken = [[milliseconds(one, race.X, race.y) for one in models] for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def disagreement(mine: list[float], theirs: list[float], gaps: float) -> str:
    """Complain unless the objectives by their definition agree to the gaps."""
    for a, b in zip(mine, theirs, strict=True):
        if abs(a - b) > (gaps + 1e-9) * max(abs(a), abs(b), 1e-6):
            return f"OBJECTIVES DIFFER: {a:.9g}, {b:.9g}"
    return ""


def timed(
    race: Race, gap: float, found: list[Attempt], closest: Attempt | None, options: Any
) -> Row:
    """One row of the table."""
    asked = gap if options.default else math.nextafter(gap, 1.0)
    mine = clone(race.mine).set_params(tol=asked)
    theirs = [adjusted(race.theirs[one.variant], one.given) for one in found]
    mine_ms, *peer_ms = in_turns(race, [mine, *theirs])
    proven = float(np.max(mine.rel_gap_))
    row = Row(race.data, race.name, gap, mine_ms, proven, method_of(mine), note="")
    if proven > asked:
        row = row._replace(note="OURS MISSES IT")
    if not found:
        best = f", at best {closest.gap:.1e} ({closest.label})" if closest else ""
        return row._replace(peer=f"not reached within {options.seconds:g} s{best}")
    k = int(np.argmin(peer_ms))
    note = row.note or disagreement(
        race.values(point_of(mine)), found[k].values, proven + found[k].gap
    )
    return row._replace(peer_ms=peer_ms[k], peer=found[k].label, peer_gap=found[k].gap, note=note)


def method_of(model: Any) -> str:
    """What ran, without its reason; of several problems the first."""
    method = getattr(model, "method_", "")
    first = method if isinstance(method, str) else method[0]
    return str(first).removeprefix("auto: ").split(" (")[0]


class Peers:
    """What sweeps have found, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}

    def of(
        self, race: Race, gaps: list[float], seconds: float
    ) -> tuple[dict[float, list[Attempt]], Attempt | None]:
        """The attempts that count at each gap, and the closest one."""
        key = f"{race.data}/{race.name}"
        kept = self.known.get(key)
        if kept is None or kept["seconds"] != seconds or any(str(g) not in kept for g in gaps):
            race.prepare(1e-2 * min(gaps))
            reached, closest = sweep(race, gaps, seconds)
            self.known[key] = kept = {
                "seconds": seconds,
                "closest": closest,
                **{str(gap): found for gap, found in reached.items()},
            }
            if self.path is not None:
                self.path.write_text(json.dumps(self.known, indent=1))
        closest = kept["closest"]
        return (
            {gap: [Attempt(*one) for one in kept[str(gap)]] for gap in gaps},
            Attempt(*closest) if closest else None,
        )


def table(options: argparse.Namespace) -> list[Row]:
    """Run the races that were asked for."""
    gaps = sorted((float(gap) for gap in options.gaps.split(",")), reverse=True)
    peers, rows = Peers(options.peers), list[Row]()
    print(HEADER)
    for race in races(options.only):
        race.alone = options.alone
        try:
            reached, closest = peers.of(race, gaps, options.seconds)
            if options.sweep:
                found = ", ".join(f"{g:.0e}: {[a.label for a in reached[g]]}" for g in gaps)
                print(f"{race.name:30s} {race.data:10s} {found}", flush=True)
                continue
            for gap in gaps:
                rows.append(timed(race, gap, reached[gap], closest, options))
                print(rows[-1].line(), flush=True)
        except Exception as error:  # the others go on
            rows.append(Row(race.data, race.name, math.nan, note=f"FAILED: {error!r:.80}"))
            print(rows[-1].line(), flush=True)
        if options.save is not None:
            options.save.write_text(json.dumps(rows, indent=1))
    return rows


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", default=".", help="a regular expression on data/estimator")
    add("--gaps", default="1e-3,1e-6", help="relative gaps to reach")
    add("--seconds", type=float, default=10.0,
        help="scikit-learn's longest fit; 5 times that for all fits of a sweep")  # fmt: skip
    add("--alone", action="store_true", help="scikit-learn's models prove their gaps themselves")
    add("--default", action="store_true", help="at 1e-6 leave spd1 its default, which goes further")
    add("--peers", type=Path, help="file that keeps what sweeps find")
    add("--sweep", action="store_true", help="only sweep, time nothing")
    add("--save", type=Path, help="file for the rows")
    add("--merge", type=Path, nargs="+", help="files of rows: print them as one table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.merge:
        rows = merged([json.loads(path.read_text()) for path in options.merge])
        print(markdown(rows))
    else:
        rows = table(options)
    if not options.sweep:
        summary(rows)


if __name__ == "__main__":
    main()
