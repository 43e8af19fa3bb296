"""Race spd1 against every peer that is installed, on the same objectives to the same accuracy.

The time to accuracy eps is the wall time of a whole fit, at the fastest of a solver's own
stopping settings that reaches (P(x) - P*) / (P(0) - P*) <= eps. One thread, no intercept, cold
start; what a peer wants converted (Fortran order, CSC) is converted before the clock starts.

    python benchmarks/race.py --data FOLDER                 everything; resumes where it stopped
    python benchmarks/race.py --data FOLDER --no-peers      only spd1, peers' times as kept
    python benchmarks/race.py --only 'lasso/' --method rows
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from race_peers import Peer, Run, all_peers, toy_of
from race_problems import FAMILY_LOSS, Instance, Shelf, Spec, all_specs
from race_reference import Reference, find_reference
from race_report import report
from race_store import Record, Store
from race_timing import ACCURACIES, TIGHT, Limits, by_processor_time, confirm, quiet, sweep

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


def one_thread() -> None:
    """Start again with one thread: BLAS and OpenMP read these only when they are loaded."""
    if any(os.environ.get(name) != "1" for name in THREAD_VARIABLES):
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


#: Gaps that spd1 is asked for. The gap counts from P*, accuracies of the race from P(0) - P*: where
#: P* is a small part of P(0), a gap just below 1 is an accuracy already.
GAPS = (1.0, 0.99, 0.97, 0.94, 0.9, 0.8, 0.65, 0.5, *(10.0 ** (-k / 2) for k in range(1, 31)))


class Spd1Run:
    """The timed call of spd1: the problem is built and checked inside the clock.

    As every peer it gets the data in the layout it reads fastest: by columns where auto works on
    those, by rows elsewhere.
    """

    def __init__(self, one: Instance, method: str, seconds: float) -> None:
        import spd1
        from spd1.solvers.auto import pick
        from spd1.solvers.sprint.sprint import kind_of

        self.one, self.asked, self.seconds, self.method = one, method, seconds, ""
        problem = spd1.Problem(one.A, one.b, one.loss, spd1.ElasticNet(l1=one.l1, l2=one.l2))
        kind = kind_of(problem) or pick(problem)[0]
        by_columns = method == "auto" and one.l1 > 0 and kind in ("descent", "newton")
        self.A = one.columns if by_columns else one.A

    def __call__(self, tol: float) -> np.ndarray:
        import spd1

        one = self.one
        problem = spd1.Problem(self.A, one.b, one.loss, spd1.ElasticNet(l1=one.l1, l2=one.l2))
        result = spd1.solve(problem, self.asked, tol=tol, max_passes=1e7, max_seconds=self.seconds)
        self.method = result.method
        return result.x


def spd1_as_peer(method: str, seconds: float) -> Peer:
    def prepare(one: Instance) -> Run:
        return Spd1Run(one, method, seconds)

    return Peer("spd1", "spd1", tuple(FAMILY_LOSS), prepare, settings=GAPS, warm="child")


class Race:
    """One run of the program."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        if options.processor_time:
            by_processor_time()
        out = Path(options.out)
        cache = Path(options.cache) if options.cache else out / "race-cache"
        self.shelf, self.store = Shelf(options.data, cache), Store(out, cache)
        self.everyone = all_peers()
        self.warmed: set[tuple[str, str, bool]] = set()
        absent = {reason for peer in self.everyone if (reason := peer.missing())}
        for reason in sorted(absent):
            say(f"left out: {reason}")
        self.present = [peer for peer in self.everyone if not peer.missing()]
        wanted = re.compile(options.peers)
        self.peers = [peer for peer in self.present if wanted.search(peer.name)]
        self.spd1 = spd1_as_peer(options.method, options.seconds)

    def go(self, specs: list[Spec]) -> None:
        for number, spec in enumerate(specs, 1):
            say(f"[{number}/{len(specs)}] {spec.name}")
            try:
                one = self.shelf.instance(spec)
            except FileNotFoundError as problem:
                say(f"  skipped: {problem}")
                continue
            self.one_problem(one)

    def one_problem(self, one: Instance) -> None:
        best = self.optimum(one)
        peers = self.store.peers(one.name)
        peers.describe(one)
        swept = False
        if not self.options.no_peers:
            swept = self.sweep_peers(one, peers, best)
        ours = None
        if not self.options.no_spd1:
            ours = self.store.ours(self.options.method, one.name)
            ours.describe(one)
            ours.content["confirmed"] = {}
            limits = self.limits(peers, best)
            limits.factor = 200.0  # our own weak spots are worth seeing
            self.sweep_one(self.spd1, one, ours, best, limits)
        self.confirm(one, peers, ours, best, swept or self.options.confirm)

    def optimum(self, one: Instance) -> Reference:
        best = self.store.optimum(one)
        if best is None:
            clock = time.perf_counter()
            best = find_reference(one, self.present, self.options.reference_seconds)
            self.store.keep_optimum(one, best)
            took = time.perf_counter() - clock
            say(f"  P* = {best.value:.15g}, gap {best.gap:.0e}, {best.source}, {took:.1f} s")
        if not best.trusted:
            say(f"  P* is not proven to 1e-10 (gap {best.gap:.1e})")
        return best

    def limits(self, peers: Record, best: Reference) -> Limits:
        known = {}
        for accuracy in ACCURACIES:
            times = [found[0] for found in peers.times(accuracy, best.value).values()]
            if times:
                known[accuracy] = min(times)
        return Limits(self.options.seconds, known)

    def sweep_peers(self, one: Instance, record: Record, best: Reference) -> bool:
        swept = False
        for peer in self.peers:
            kept = peer.name in record.solvers and not self.options.redo
            if kept or not peer.solves(one):
                continue
            self.warm_up(peer, one)
            self.sweep_one(peer, one, record, best, self.limits(record, best))
            swept = True
        return swept

    def sweep_one(
        self, peer: Peer, one: Instance, record: Record, best: Reference, limits: Limits
    ) -> None:
        entry = sweep(peer, one, best.value, limits)
        record.solvers[peer.name] = entry
        if record.lowest() < best.value:
            best.value, best.source = record.lowest(), peer.name
            self.store.keep_optimum(one, best)
        record.save()
        shown = []
        for accuracy in ACCURACIES:
            found = record.times(accuracy, best.value).get(peer.name)
            shown.append(f"{1e3 * found[0]:10.2f}" if found else "         -")
        status = "" if entry["status"] == "ok" else f"{entry['status']} {entry['message']}"
        say(f"  {peer.name:24s}{''.join(shown)} ms  {status}")

    def warm_up(self, peer: Peer, one: Instance) -> None:
        """Compile once in this process what each child would compile again."""
        key = (peer.name, one.family, one.sparse)
        if peer.warm != "parent" or key in self.warmed:
            return
        self.warmed.add(key)
        try:
            with quiet():
                peer.prepare(toy_of(one))(TIGHT)
        except Exception as problem:
            say(f"  {peer.name}: {problem!r}")  # its sweep will record the failure

    def confirm(
        self, one: Instance, peers: Record, ours: Record | None, best: Reference, again: bool
    ) -> None:
        """Time spd1 once more, in turns with the two best peers if those are timed ``again``."""
        by_name = {peer.name: peer for peer in self.present}
        for accuracy in ACCURACIES:
            times = peers.times(accuracy, best.value) if again else {}
            front = sorted((times[name][0], name) for name in times if name in by_name)[:2]
            entries = [(by_name[name], times[name][1], times[name][0]) for _, name in front]
            if ours is not None and (found := ours.times(accuracy, best.value).get("spd1")):
                entries.append((self.spd1, found[1], found[0]))
            if not entries:
                continue
            for name, seconds in confirm(entries, one, self.options.seconds).items():
                record = ours if name == "spd1" and ours is not None else peers
                kept = record.content["confirmed"].setdefault(repr(accuracy), {})
                kept[name] = statistics.median(seconds)
        if again:
            peers.save()
        if ours is not None:
            ours.save()


def shared_arguments(parser: argparse.ArgumentParser, seconds: float, reference: float) -> None:
    """What every race asks for."""
    add = parser.add_argument
    add("--out", default=str(Path(__file__).parent / "results"), help="where results go")
    add("--method", default="auto", help="method of spd1 (default: auto)")
    add("--peers", default="", help="regular expression on peer names")
    add("--no-peers", action="store_true", help="only time spd1; peers as measured before")
    add("--no-spd1", action="store_true", help="only time the peers")
    add("--confirm", action="store_true", help="with --no-peers: time the best two again, too")
    add("--redo", action="store_true", help="time peers again that have results")
    add("--report", action="store_true", help="only print the tables of kept results")
    add("--processor-time", action="store_true", help="for machines that have other work")
    add("--seconds", type=float, default=seconds, help=f"limit of one run (default {seconds:g})")
    add("--reference-seconds", type=float, default=reference, help="limit of one step towards P*")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", help="folder of the LIBSVM files (default: SPD1_DATA)")
    add("--cache", help="folder for parsed data and optima (default: OUT/race-cache)")
    add("--only", default="", help="regular expression on problem names")
    add("--quick", action="store_true", help="small data sets only")
    add("--list", action="store_true", help="list problems and peers, run nothing")
    shared_arguments(parser, 10.0, 60.0)
    return parser.parse_args()


def main() -> None:
    one_thread()
    options = arguments()
    chosen = [
        spec
        for spec in all_specs()
        if re.search(options.only, spec.name) and not (options.quick and spec.data.size != "small")
    ]
    race = Race(options)
    if options.list:
        print("\n".join(spec.name for spec in chosen))
        print("peers:", ", ".join(peer.name for peer in race.peers))
        return
    if not options.report:
        race.go(chosen)
    report(race.store, [spec.name for spec in chosen], options.method)


if __name__ == "__main__":
    main()
