"""Run everything that figures 1 to 3 show of one panel: tune, then run with all seeds."""

from __future__ import annotations

import math
from typing import Any

from . import grids
from .curves import MethodCurves, Optimum, PanelCurves, Shown
from .pool import Job, Pool
from .problems import Panel
from .readings import TEXTBOOK
from .runs import Curve
from .settings import NAMES, Settings

__all__ = ["panel_curves", "planned_work", "tune"]

# Nanoseconds of a pass by the entries of the data, roughly: for the time that is left, no more.
PRICE = {"psgd": 2.0, "svrg": 2.0, "saga": 3.0, "spd1": 80.0, "spd1-vr": 100.0}


def panel_curves(pool: Pool, panel: Panel, settings: Settings) -> PanelCurves:
    """Both readings of one panel."""
    optima = [_optimum(pool, panel, settings.optimum, draw) for draw in range(panel.draws)]
    units = [_units(pool, panel, draw) for draw in range(panel.draws)]
    tried = tune(pool, panel, settings, units[0])
    methods = {}
    for method in NAMES:
        best = grids.best_point(tried[method])
        steps = grids.steps_at(method, best, units[0])
        mine = [
            {"steps": grids.steps_at(method, point, units[0]), "final": final}
            for point, final in tried[method].items()
        ]
        edge = grids.at_edge(method, best, tried[method])
        methods[method] = MethodCurves(method, steps, mine, edge, [])
    by_draw = {name: [mine.steps] * panel.draws for name, mine in methods.items()}
    for name, method in TEXTBOOK.items():
        by_draw[name] = [unit["textbook"][name] for unit in units]
        methods[name] = MethodCurves(method, by_draw[name][0], [], False, [])
    _show(pool, panel, settings, methods, by_draw)
    return PanelCurves(panel, optima, methods)


def _shared(panel: Panel, draw: int) -> dict[str, Any]:
    return {"data": panel.file(draw), "name": panel.data, "loss": panel.loss, "l2": panel.l2}


def _optimum(pool: Pool, panel: Panel, method: str, draw: int) -> Optimum:
    task = {"kind": "optimum", **_shared(panel, draw), "method": method}
    [found] = pool.run([Job(task, f"{panel.label}: P*")])
    return Optimum(found["optimum"], found["rel_gap"], found["start"])


def _units(pool: Pool, panel: Panel, draw: int) -> dict[str, Any]:
    task = {"kind": "units", **_shared(panel, draw)}
    return dict(pool.run([Job(task, f"{panel.label}: units of steps")])[0])


def _show(
    pool: Pool,
    panel: Panel,
    settings: Settings,
    methods: dict[str, MethodCurves],
    steps: dict[str, list[dict[str, float]]],
) -> None:
    """Add the runs that are shown: every seed on every draw."""
    places = [
        (draw, name, seed)
        for draw in range(panel.draws)
        for name in methods
        for seed in settings.seeds
    ]
    jobs = [
        Job(
            run_of(panel, methods[name].method, steps[name][draw], seed, draw),
            f"{panel.label}: {NAMES.get(name, name)}, seed {seed}"
            + (f", draw {draw + 1}" if panel.draws > 1 else ""),
            work(panel, methods[name].method),
        )
        for draw, name, seed in places
    ]
    for (draw, name, seed), result in zip(places, pool.run(jobs), strict=True):
        methods[name].runs.append(Shown(draw, seed, Curve.from_lists(result)))


def run_of(
    panel: Panel, method: str, steps: dict[str, float], seed: int, draw: int = 0
) -> dict[str, Any]:
    """The task of one run."""
    return {
        "kind": "run", **_shared(panel, draw), "sampling": panel.sampling, "method": method,
        "steps": steps, "seed": seed, "horizon": panel.horizon,
    }  # fmt: skip


def tune(
    pool: Pool, panel: Panel, settings: Settings, unit: dict[str, Any]
) -> dict[str, dict[grids.Point, float]]:
    """Method -> points tried, by the rule of ``grids``, with the objective each led to."""
    tried: dict[str, dict[grids.Point, float]] = {method: {} for method in NAMES}

    def run(points: list[tuple[str, grids.Point]]) -> None:
        jobs = []
        for place, (method, point) in enumerate(points):
            count = 1 + len(tried[method]) + sum(name == method for name, _ in points[:place])
            task = run_of(panel, method, grids.steps_at(method, point, unit), settings.tuning_seed)
            last = settings.tries if count <= settings.tries else f"at most {settings.most_tries}"
            label = f"{panel.label}: {NAMES[method]}, try {count} of {last}"
            jobs.append(Job(task, label, work(panel, method)))
        for (method, point), result in zip(points, pool.run(jobs), strict=True):
            tried[method][point] = _final(result, panel.horizon)

    run([(method, point) for method in NAMES for point in grids.COARSE[method]])
    searches = {method: grids.fine(method, tried[method]) for method in NAMES}
    points = {method: next(search) for method, search in searches.items()}
    while _go_on(tried, settings):
        if len(tried["svrg"]) >= settings.tries:
            pool.plan(sum(work(panel, method) for method in NAMES))
        run(list(points.items()))
        for method, search in searches.items():
            points[method] = search.send(tried[method][points[method]])
    return tried


def _go_on(tried: dict[str, dict[grids.Point, float]], settings: Settings) -> bool:
    """Whether all methods get one more try: while one has its best at the edge, within limits."""
    count = len(tried["svrg"])
    if not settings.tries <= count < settings.most_tries:
        return count < settings.tries
    return any(
        grids.at_edge(method, grids.best_point(mine), mine) for method, mine in tried.items()
    )


def _final(result: dict[str, list[float]], horizon: float) -> float:
    """The objective at the end of a try; one that stopped early has diverged."""
    curve = Curve.from_lists(result)
    reached = curve.paper_passes[-1] >= horizon - 1e-9
    return float(curve.primal[-1]) if reached else math.inf


def work(panel: Panel, method: str) -> float:
    """Seconds that a run will take, roughly."""
    entries = panel.entries if "spd1" in method else panel.stored
    return 1e-9 * PRICE[method] * entries * panel.horizon


def planned_work(panel: Panel, settings: Settings) -> float:
    """Seconds that all runs of a panel will take, roughly."""
    shown = panel.draws * len(settings.seeds)
    tuned = sum((settings.tries + shown) * work(panel, method) for method in NAMES)
    return tuned + sum(shown * work(panel, method) for method in TEXTBOOK.values())
