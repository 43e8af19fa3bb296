"""Race paths at equal certified gaps: 100 alphas down to 0.01 of the largest, one thread.

    python benchmarks/paths.py                         held-out problems; SPD1_DATA: real ones, too
    python benchmarks/paths.py --tune --only lasso/    problems that may be tuned on
    python benchmarks/paths.py --sweep                 only peers' settings, into build/paths.json
    python benchmarks/paths.py --known                 only seconds, at settings found before

A peer's own tol is no gap: it is swept in half decades, and the loosest setting counts whose worst
relative duality gap along the path, by ``spd1.certify`` at every alpha, is at most the target. The
table has seconds of ours and the peers' seconds over them, medians of runs in turns; inf where no
setting got there before one took longer than --limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from path_peers import PEERS, Run, ours
from path_problems import Task, tasks
from race import one_thread, say

TARGETS = (1e-4, 1e-6)
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(4, 29))


def worst_gap(task: Task, alphas: np.ndarray, found: np.ndarray, enough: float) -> float:
    """The largest relative gap along the path, or the first above ``enough``: hard ones first."""
    from spd1 import ElasticNet, Problem, certify

    X, y = task.drawn
    problem, worst = Problem(X, y, task.loss, None), 0.0
    for alpha, x in zip(alphas[::-1], found[::-1], strict=True):
        net = ElasticNet(l1=alpha * task.ratio, l2=alpha * (1.0 - task.ratio))
        worst = max(worst, certify(x, problem.with_regularizer(net)).rel_gap)
        if worst > enough:
            break
    return worst


def seconds_of(run: Run, tol: float) -> tuple[float, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock = time.perf_counter()
        found = run(tol)
        return time.perf_counter() - clock, found


def sweep(task: Task, alphas: np.ndarray, run: Run, limit: float) -> dict[str, float]:
    """The loosest setting for every target; targets that take longer than the limit are left.

    Whole decades first, then the half decade before the one that does it.
    """
    found: dict[str, float] = {}
    spent = 0.0

    def reaches(place: int, target: float) -> bool:
        nonlocal spent
        clock = time.process_time()  # others may use the machine
        x = seconds_of(run, TOLERANCES[place])[1]
        spent = time.process_time() - clock
        return worst_gap(task, alphas, x, target) <= target

    place = 0
    for target in TARGETS:
        while not reaches(place, target):
            place += 2
            if spent > limit or place >= len(TOLERANCES):
                return found
        if place > 0 and reaches(place - 1, target):
            place -= 1
        found[repr(target)] = TOLERANCES[place]
    return found


def sweep_all(chosen: list[Task], options: argparse.Namespace, kept: dict[str, Any]) -> None:
    wanted = re.compile(options.peers)
    for task in chosen:
        alphas = task.alphas(options.alphas, options.eps)
        for peer, (package, families, prepare) in PEERS.items():
            known = kept.setdefault(task.name, {})
            if task.family not in families or peer in known or not wanted.search(peer):
                continue
            if importlib.util.find_spec(package) is None:
                say(f"left out: {package} is not installed")
                continue
            known[peer] = sweep(task, alphas, prepare(task, alphas), options.limit)
            say(f"{task.name} {peer} {known[peer]}")
            options.settings.parent.mkdir(parents=True, exist_ok=True)
            options.settings.write_text(json.dumps(kept, indent=1))


def race(task: Task, options: argparse.Namespace, known: dict[str, Any]) -> list[dict[str, Any]]:
    """Time everybody in turns at every target."""
    alphas = task.alphas(options.alphas, options.eps)
    wanted = re.compile(options.peers)
    rows = []
    for target in TARGETS:
        if options.target and target != options.target:
            continue
        runs: dict[str, tuple[Run, float]] = {"ours": (ours(task, alphas), target)}
        for peer, settings in known.items():
            if wanted.search(peer) and repr(target) in settings:
                runs[peer] = PEERS[peer][2](task, alphas), settings[repr(target)]
        times: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(options.repeats + 1):
            for name, (run, setting) in runs.items():
                if turn == 0 and name not in ("ours", "skglm"):
                    continue  # those two compile, or load what was compiled
                seconds, found = seconds_of(run, setting)
                if turn:
                    times[name].append(seconds)
                elif name == "ours" and worst_gap(task, alphas, found, np.inf) > 2.0 * target:
                    say(f"{task.name}: certify does not confirm our path")
        row: dict[str, Any] = {"task": task.name, "target": target}
        row |= {name: statistics.median(found) for name, found in times.items()}
        row |= {name: np.inf for name in known if name not in row and wanted.search(name)}
        rows.append(row)
        print(line_of(row), flush=True)
    return rows


def line_of(row: dict[str, Any]) -> str:
    peers = [name for name in row if name not in ("task", "target", "ours")]
    ratios = "  ".join(f"{name} {row[name] / row['ours']:.2f}" for name in peers)
    return f"{row['task']:26s} {row['target']:.0e} {1e3 * row['ours']:8.1f} ms   {ratios}"


def best(row: dict[str, Any], package: str) -> float:
    """The fastest call of a package, over ours."""
    found = [row[name] for name in row if name.startswith(package)]
    return min(found, default=np.inf) / row["ours"]


def summary(rows: list[dict[str, Any]]) -> None:
    print(f"{'':26s} target  celer / ours: mean, worst   scikit-learn / ours: mean, worst")
    for family in ("lasso", "enet", "logistic"):
        for target in TARGETS:
            mine = [r for r in rows if r["task"].startswith(family) and r["target"] == target]
            if mine:
                text = ""
                for package in ("celer", "sklearn"):
                    ratios = np.array([best(row, package) for row in mine])
                    finite = ratios[np.isfinite(ratios)]
                    mean = np.exp(np.log(finite).mean()) if len(finite) else np.inf
                    text += f"{mean:16.2f} {ratios.min():9.2f}  "
                print(f"{family:26s} {target:.0e} {text}")


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alphas", type=int, default=100)
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of a setting in a sweep")
    parser.add_argument("--only", default="", help="names of problems, as a regular expression")
    parser.add_argument("--peers", default="", help="the same of peers; '^$' for none")
    parser.add_argument("--target", type=float, default=0.0, help="one accuracy alone")
    parser.add_argument("--tune", action="store_true", help="problems that may be tuned on")
    parser.add_argument("--sweep", action="store_true", help="find the peers' settings, no more")
    parser.add_argument("--known", action="store_true", help="time at settings that are known")
    parser.add_argument("--settings", type=Path, default=Path("build/paths.json"))
    options = parser.parse_args()
    wanted = re.compile(options.only)
    chosen = [
        task
        for task in tasks((0,) if options.tune else (1,))
        if task.held_out != options.tune and wanted.search(task.name)
    ]
    kept = json.loads(options.settings.read_text()) if options.settings.exists() else {}
    if not options.known:
        sweep_all(chosen, options, kept)
    if not options.sweep:
        summary([row for task in chosen for row in race(task, options, kept.get(task.name, {}))])


if __name__ == "__main__":
    main()
