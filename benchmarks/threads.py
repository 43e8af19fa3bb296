"""Time to a proven gap of 1e-6 with one thread and with two, beside those who have threads, too.

    SPD1_DATA=folder python benchmarks/threads.py                   all of it, 12 minutes at most
    SPD1_DATA=folder python benchmarks/threads.py --quick           0.5 GB, no peers: 8 minutes
    python benchmarks/threads.py --gigabytes 0.25 --data folder     smaller synthetic data
    python benchmarks/threads.py --only gisette --losses lasso --no-peers --no-races

Runs take turns in one process; the fastest of each counts. Problems that take less than 50 ms on
one thread are left out of the means. The *serial share* is what is left of one thread's processor
time after all work that is cut into pieces. The first line says how much faster two threads read
memory than one, as NumPy does it.

Every problem gets an equal share of what is left of the budget; two rounds of runs are made in any
case as long as the budget lasts: in the first, whoever comes first finds out norms and counts that
others then know. A run that takes longer than ``--limit`` is left there, and said.
All clocks stand still while kernels are compiled: a first run takes some minutes more.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from race_problems import DATA_SETS, Instance, l1_max

TOL = 1e-6
LEAST_SECONDS = 0.05
L2S = {"20news": 1e-4, "gisette-like": 1e-2, "synthetic-10000": 1e-3, "dense": 1e-3, "sparse": 1e-4}
LOSSES = ("logistic", "squared_hinge", "hinge", "lasso-0.1", "lasso-0.01")
LARGE = ("dense", "sparse")
QUICK_LOSSES = ("logistic", "squared_hinge", "lasso-0.1")  # of large data, with --quick
QUICK = {"gigabytes": 0.5, "budget": 420.0, "limit": 30.0, "repeats": 3}
PEER_SETTINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
PEER_SECONDS = 12.0  # of all settings of a peer: it is left there, if none was close enough
RACE_SECONDS = 6.0  # of a run of rows
LARGEST_RACE = 5e7  # stored entries


def dense_data(gigabytes: float, columns: int = 8000) -> tuple[Any, np.ndarray]:
    """Normal entries, and labels that half follow from them."""
    rng = np.random.default_rng(0)
    n = max(int(gigabytes * 2**30 / 8 / columns), 10)
    A = rng.standard_normal((n, columns))
    x = rng.standard_normal(columns)
    return A, np.where(A @ x + math.sqrt(columns) * rng.standard_normal(n) > 0, 1.0, -1.0)


def sparse_data(gigabytes: float, a_row: int = 100) -> tuple[Any, np.ndarray]:
    """Rows of length 1, a few of whose columns are in nearly all of them and most in hardly any.

    Entry k of a row is in column d ((k + u) / a_row)^3 + k, u uniform: in order, none twice.
    """
    rng = np.random.default_rng(0)
    n = max(int(gigabytes * 2**30 / 12 / a_row), 10)
    d = max(n // 5, 1000)
    values, columns = np.empty((n, a_row)), np.empty((n, a_row), np.int32)
    order = np.arange(a_row)
    for first in range(0, n, 50_000):
        part = slice(first, min(first + 50_000, n))
        shape = (part.stop - part.start, a_row)
        share = (order + rng.random(shape, dtype=np.float32)) / a_row
        columns[part] = (d - a_row) * np.minimum(share, 1.0) ** 3 + order
        found = rng.random(shape)
        values[part] = found / np.sqrt(np.einsum("ij,ij->i", found, found))[:, None]
    ends = np.arange(0, n * a_row + 1, a_row, dtype=np.int32)
    A = sp.csr_matrix((values.ravel(), columns.ravel(), ends), shape=(n, d))
    margins = A @ rng.standard_normal(d)
    return A, np.where(margins + margins.std() * rng.standard_normal(n) > 0, 1.0, -1.0)


def data_sets(
    folder: Path | None, gigabytes: float, only: str
) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Names, data and labels, one at a time: two of them need not fit into memory."""
    for name in L2S:
        if only not in name:
            continue
        if name in LARGE:
            yield (name, *(dense_data if name == "dense" else sparse_data)(gigabytes))
            continue
        found = next(one for one in DATA_SETS if one.name == name)
        if found.file and folder is None:
            print(f"{name} is left out: set SPD1_DATA, or --data, to the LIBSVM files")
            continue
        yield (name, *found.make(folder))


def instance(name: str, A: Any, b: np.ndarray, loss: str) -> Instance:
    """One problem of a data set."""
    if loss.startswith("lasso"):
        l1 = float(loss.split("-")[1]) * l1_max(A, b, "squared")
        return Instance(f"lasso/{name}/{loss}", A, b, "squared", l1, 0.0)
    return Instance(f"l2-{loss.replace('_', '-')}/{name}", A, b, loss, 0.0, L2S[name])


class Budget:
    """Seconds that are left, and how they are shared."""

    def __init__(self, seconds: float, shares: int) -> None:
        from spd1.kernel.jit import clock  # stands still while kernels are compiled

        self.clock = clock
        self.end, self.shares = clock() + seconds, shares

    @property
    def left(self) -> float:
        return self.end - self.clock()

    def take(self) -> float:
        """An equal share of what is left."""
        self.shares -= 1
        return max(self.left, 0.0) / max(self.shares + 1, 1)


def timed(problem: Any, repeats: int, seconds: float, limit: float) -> tuple[dict[str, float], str]:
    """Seconds of serial, one thread and two, in turns, as often as there is time; what auto did."""
    import spd1
    from spd1.kernel.jit import clock  # stands still while kernels are compiled

    options: dict[str, dict[str, Any]] = {
        "serial": {},
        "1": {"engine": "threads", "n_threads": 1},
        "2": {"engine": "threads", "n_threads": 2},
    }
    best, bits, start = dict.fromkeys(options, math.inf), {}, clock()
    for number in range(max(repeats, 2)):
        began = clock()
        for name, option in options.items():
            at = clock()
            found = spd1.solve(problem, tol=TOL, max_seconds=limit, **option)
            best[name] = min(best[name], clock() - at)
            bits[name] = found.x.tobytes()
            if not found.converged:
                raise RuntimeError(f"{name}: {found.status} at a gap of {found.rel_gap:.1e}")
        if bits["1"] != bits["2"]:
            raise RuntimeError("one thread and two differ in their bits")
        took = clock() - began
        if number > 0 and clock() - start + took > seconds:
            break
    return best, found.method


def serial_share(problem: Any) -> float:
    """Share of one thread's processor time outside of work that is cut into pieces."""
    import spd1
    from spd1.engines.threads import Threads

    spent, plain = [0.0], Threads.map

    def counted(self: Threads, function: Any, items: Any) -> list[Any]:
        start = time.thread_time()
        found = plain(self, function, items)
        spent[0] += time.thread_time() - start
        return found

    Threads.map = counted  # type: ignore[method-assign]
    try:
        start = time.thread_time()
        spd1.solve(problem, tol=TOL, engine="threads", n_threads=1)
        return 1.0 - spent[0] / (time.thread_time() - start)
    finally:
        Threads.map = plain  # type: ignore[method-assign]


def peer_seconds(one: Instance, optimum: float, name: str) -> str:
    """The first setting of a peer with two threads that comes within 1e-6 of the optimum."""
    spent = 0.0
    for setting in PEER_SETTINGS:
        model = peer_model(one, setting, name)
        if model is None:
            return ""
        start = time.perf_counter()
        model.fit(one.A, one.b)
        seconds = time.perf_counter() - start
        spent += seconds
        if one.objective(model.coef_) - optimum <= TOL * abs(optimum):
            return f"{1e3 * seconds:.0f} ms"
        if spent > PEER_SECONDS:
            return f"not within 1e-6 after {spent:.0f} s"
    return "not within 1e-6"


def peer_model(one: Instance, setting: float, name: str) -> Any:
    """An estimator with two threads, or None where it has none for the loss."""
    if name == "snapml":
        try:
            import snapml
        except ImportError:
            return None
        shared = {"fit_intercept": False, "tol": setting, "n_jobs": 2, "max_iter": 10_000}
        if one.loss == "logistic":
            return snapml.LogisticRegression(regularizer=one.n * one.l2, dual=True, **shared)
        if one.loss == "hinge":
            return snapml.SupportVectorMachine(loss="hinge", regularizer=one.n * one.l2, **shared)
        if one.loss == "squared" and one.l1 > 0:
            return snapml.LinearRegression(
                penalty="l1", regularizer=one.n * one.l1, dual=False, **shared
            )
        return None
    if one.loss != "logistic":
        return None  # scikit-learn's other solvers have one thread
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(
        C=1.0 / (one.n * one.l2), fit_intercept=False, tol=setting, max_iter=10_000
    )  # lbfgs: BLAS has the threads


def peers(one: Instance, problem: Any) -> None:
    """Print how long others take with two threads."""
    import spd1

    two = {"engine": "threads", "n_threads": 2}
    optimum = spd1.solve(problem, tol=1e-8, max_seconds=PEER_SECONDS, **two).dual
    for name in ("snapml", "scikit-learn"):
        said = attempted(lambda name=name: peer_seconds(one, optimum, name))
        if said:
            print(f"    {name} with two threads: {said}", flush=True)


def races(problem: Any) -> None:
    """Print rows by itself, side by side, in rounds and in a race, two threads each."""
    import spd1

    two = {"engine": "threads", "n_threads": 2}
    ways: dict[str, dict[str, Any]] = {
        "serial": {},
        "side by side": two,
        "rounds 2 x 2": {**two, "grid": (2, 2)},
        "async": {"engine": "async", "n_threads": 2},
    }
    told = []
    for name, options in ways.items():
        best = ""
        for _ in range(2):  # the first one compiles
            start = time.perf_counter()
            found = spd1.solve(problem, "rows", tol=TOL, max_seconds=RACE_SECONDS, **options)
            took = f"{1e3 * (time.perf_counter() - start):.0f} ms"
            best = f"{took}, {found.passes:.0f} passes"
            best += "" if found.converged else f", gap {found.rel_gap:.0e}"
        told.append(f"{name} {best}")
    print(f"    rows: {'; '.join(told)}", flush=True)


def attempted(work: Callable[[], Any]) -> Any:
    """What came of it; an error is printed, and the others go on."""
    try:
        return work()
    except Exception as error:
        print(f"    {type(error).__name__}: {error}", flush=True)
        return None


def measure(
    one: Instance, given: argparse.Namespace, seconds: float, race: bool
) -> tuple[float, float] | None:
    """Print the row of a problem; its speed-up on one thread and on serial, if it counts."""
    import spd1

    start = time.perf_counter()
    problem = spd1.Problem(one.A, one.b, one.loss, spd1.ElasticNet(one.l1, one.l2))
    best, method = timed(problem, given.repeats, 0.6 * seconds, given.limit)
    share, gain = serial_share(problem), best["1"] / best["2"]
    counts = best["1"] > LEAST_SECONDS
    line = f"{one.name:36} {1e3 * best['serial']:9.0f} {1e3 * best['1']:9.0f}"
    line += f" {1e3 * best['2']:10.0f} {gain:9.2f} {best['serial'] / best['2']:10.2f}"
    line += f" {share:13.2f}  {method}"
    print(line if counts else f"{line} (too small to count)", flush=True)
    if given.peers and time.perf_counter() - start < seconds:
        attempted(lambda: peers(one, problem))
    if race and time.perf_counter() - start < seconds:
        attempted(lambda: races(problem))
    return (gain, best["serial"] / best["2"]) if counts else None


def memory_gain(megabytes: int = 256) -> float:
    """How many times as fast two threads read memory as one does."""
    from spd1.engines.threads import Threads

    values = np.ones(megabytes * 2**17)
    halves, best = np.array_split(values, 2), [math.inf, math.inf]
    with Threads(2) as engine:
        for _ in range(7):
            for k, work in enumerate((lambda: [values.max()], lambda: engine.map(np.max, halves))):
                start = time.perf_counter()
                work()
                best[k] = min(best[k], time.perf_counter() - start)
    return best[0] / best[1]


def wake_up() -> None:
    """Import what a first solve imports: it would be timed."""
    import spd1

    tiny = spd1.Problem(np.eye(4), np.ones(4), "squared", spd1.L1(0.1))
    for method in ("auto", "newton"):
        spd1.solve(tiny, method, engine="threads", n_threads=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("SPD1_DATA", ""), help="LIBSVM files")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="of each synthetic set")
    parser.add_argument("--only", default="", help="data sets whose name has this")
    parser.add_argument("--losses", default="", help="losses, by comma")
    parser.add_argument("--repeats", type=int, default=5, help="at most")
    parser.add_argument("--budget", type=float, default=700.0, help="seconds, of everything")
    parser.add_argument("--limit", type=float, default=40.0, help="seconds, of one solve")
    parser.add_argument("--quick", action="store_true", help="half a GB, no peers, no races")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--no-races", dest="races", action="store_false")
    if parser.parse_known_args()[0].quick:  # what is said beside it counts
        parser.set_defaults(**QUICK, peers=False, races=False)
    given = parser.parse_args()
    wanted = [loss.replace("-", "_") for loss in given.losses.split(",") if loss]
    losses = [
        one for one in LOSSES if not wanted or any(w in one.replace("-", "_") for w in wanted)
    ]
    sets = [name for name in L2S if given.only in name]
    of_set = {
        name: [one for one in losses if one in QUICK_LOSSES or name not in LARGE or not given.quick]
        for name in sets
    }
    budget = Budget(given.budget, sum(map(len, of_set.values())))
    wake_up()
    print(f"two threads read memory {memory_gain():.2f} times as fast as one")
    print(
        f"{'problem':36} serial ms  1 thread  2 threads  speed-up  on serial  serial share  method"
    )
    gains: list[tuple[float, float]] = []
    folder = Path(given.data) if given.data else None
    for name, A, b in data_sets(folder, given.gigabytes, given.only):
        for loss in of_set[name]:
            if budget.left <= 0.0:
                print(f"{name} {loss} is left out: the budget of {given.budget:.0f} s is spent")
                continue
            one, seconds = instance(name, A, b, loss), budget.take()
            stored = A.nnz if sp.issparse(A) else A.size
            race = given.races and loss == "logistic" and stored <= LARGEST_RACE
            gain = attempted(
                lambda one=one, seconds=seconds, race=race: measure(one, given, seconds, race)
            )
            gains += [] if gain is None else [gain]
    for name, values in zip(("one thread", "serial"), zip(*gains, strict=True), strict=False):
        mean = math.exp(np.mean(np.log(values)))
        print(f"on {name}, {len(values)} problems: mean {mean:.2f}, least {min(values):.2f}")


if __name__ == "__main__":
    sys.exit(main())
