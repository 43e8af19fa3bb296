"""Run what was asked for, draw it, judge it, and write the report."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError, ParameterError
from ..files import replacing
from ..io.arrays import write_npz
from . import figure1, figure2, figure3, figure4, figure5, table1, table2
from .curves import file_name, panel_curves, write_csv
from .outcome import Outcome
from .page import write_report
from .pool import Pool, Report
from .problems import Panel, Source, choose_sources, make_problem, panels_of
from .report import markdown_table
from .settings import FULL, QUICK, Settings
from .store import Store, WallClock
from .verdicts import CLAIMS, judge, judge_times

__all__ = ["TARGETS", "Outcome", "reproduce"]

TARGETS = ("figure1", "figure2", "figure3", "figure4", "figure5", "table1", "table2")
CURVES: dict[str, Any] = {"figure1": figure1, "figure2": figure2, "figure3": figure3}
REAL = tuple(key for key in figure2.PANELS if key != "rcv1-uniform")
LAST = ("all others", "gisette", "rcv1-uniform")  # they take longest


def reproduce(
    targets: Sequence[str] = TARGETS,
    *,
    quick: bool = False,
    out: str | Path = "reproduction",
    folder: str | Path | None = None,
    download: bool = False,
    jobs: int | None = None,
    report: Report = lambda label, done, total: None,
    settings: Settings | None = None,
) -> Outcome:
    """Reproduce figures and tables of the paper, and judge its claims.

    Parameters
    ----------
    targets : names of ``TARGETS``
    quick : bool
        Fewer passes and tries, thinned data: minutes instead of an hour.
    out : folder for pictures, curves, tables and the page ``report.html``; finished runs are kept
        in it, so that a second call goes on where the first was stopped
    folder : folder with data files; default: the one that ``SPD1_DATA`` names
    download : bool
        Whether missing LIBSVM files may be downloaded.
    jobs : processes; default: two, if there are as many cores
    report : called with a label and how many of its tasks are done
    settings : Settings, optional
        Other settings than those of ``quick``.
    """
    unknown = [name for name in targets if name not in TARGETS]
    if unknown:
        names = ", ".join(TARGETS)
        raise ParameterError(f"unknown target {unknown[0]!r}: choose from all, {names}")
    settings = settings or (QUICK if quick else FULL)
    place = make_folder(out)
    outcome = Outcome(settings)
    outcome.jobs = jobs or min(2, os.cpu_count() or 1)
    store = Store(place / "runs" / settings.name)
    wall = WallClock(store)

    def ticking(label: str, done: int, total: int) -> None:
        wall.tick()
        report(label, done, total)

    wanted = needed_panels(targets, settings)
    sources, outcome.missing = choose_sources(wanted, settings, folder, download)
    with tempfile.TemporaryDirectory(prefix="spd1-") as scratch:
        for source in sources:
            write_npz(Path(scratch) / f"{source.panel}.npz", source.A, source.b)
        with Pool(store, Path(scratch), outcome.jobs, ticking) as pool:
            run_curves(targets, outcome, pool, sources)
        run_alone(targets, outcome, Pool(store, Path(scratch), 1, ticking), sources, store)
    judge_all(outcome)
    outcome.seconds, outcome.processor = wall.tick(), outcome.processor + store.processor
    write_everything(place, outcome)
    return outcome


def make_folder(out: str | Path) -> Path:
    """The folder for all that is written, with its sub-folders."""
    place = Path(out)
    try:
        (place / "curves").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{place} can't be written: {error.strerror}") from None
    return place


def needed_panels(targets: Sequence[str], settings: Settings) -> list[str]:
    """The data that the targets need, each once."""
    wanted: list[str] = []
    for target in targets:
        if target in CURVES:
            wanted += CURVES[target].PANELS
        elif target == "figure4":
            wanted += [*figure1.PANELS, *REAL]
        elif target in ("table1", "table2"):
            wanted += REAL
    return [key for key in dict.fromkeys(wanted) if key in settings.horizons]


def run_curves(targets: Sequence[str], outcome: Outcome, pool: Pool, sources: list[Source]) -> None:
    """Figures 1 to 3, and what figure 4 needs of them."""
    panels = [
        (name, panel)
        for name, module in CURVES.items()
        if name in targets
        for panel in panels_of(
            [s for s in sources if s.panel in module.PANELS], module.LOSS, outcome.settings
        )
    ]
    done = {
        entry: panel_curves(pool, entry[1], outcome.settings)
        for entry in sorted(panels, key=_place)
    }
    for name, panel in panels:
        outcome.curves.setdefault(name, []).append(done[name, panel])
    if "figure4" in targets:
        mine = [s for s in sources if s.panel in (*figure1.PANELS, *REAL)]
        known = {
            c.panel: c for name in ("figure1", "figure2") for c in outcome.curves.get(name, [])
        }
        for panel in panels_of(mine, "logistic", outcome.settings):
            found = known.get(panel) or panel_curves(pool, panel, outcome.settings)
            outcome.panels4.append(found)


def _place(entry: tuple[str, Panel]) -> int:
    key = entry[1].key
    return LAST.index(key) if key in LAST else 0


def run_alone(
    targets: Sequence[str], outcome: Outcome, pool: Pool, sources: list[Source], store: Store
) -> None:
    """What is timed, one run at a time, and what takes no time."""
    by_panel = {source.panel: source for source in sources}
    for curves in outcome.panels4:
        source = by_panel[curves.panel.key]
        outcome.runs4[curves.panel.key] = timed_runs(curves.panel, source, outcome, pool, store)
    if "table1" in targets:
        outcome.table1 = table1.rows(sources)
    if "table2" in targets:
        mine = [by_panel[key] for key in REAL if key in by_panel]
        panels = panels_of(mine, "logistic", outcome.settings)
        for source, panel in zip(mine, panels, strict=True):
            outcome.table2.append(timed_passes(panel, source, pool, store))
    if "figure5" in targets:
        pool.report("theorems 1 to 3", 0, 1)
        began = time.process_time()
        outcome.rates = figure5.measure_rates()
        outcome.processor = time.process_time() - began
        pool.report("theorems 1 to 3", 1, 1)


def timed_runs(
    panel: Panel, source: Source, outcome: Outcome, pool: Pool, store: Store
) -> dict[str, Any]:
    """Figure 4's runs on one panel."""
    found = {}
    seconds = outcome.settings.seconds
    for count, name in enumerate(figure4.CONTENDERS):
        pool.report(f"{panel.title}: in seconds", count, len(figure4.CONTENDERS))
        task = {"kind": "timed", "data": file_name(panel), "name": panel.data, "method": name,
                "loss": panel.loss, "l2": panel.l2, "limit": seconds}  # fmt: skip
        found[name] = store.get(task)
        if found[name] is None:
            began = time.process_time()
            problem = make_problem(panel, source.A, source.b)
            found[name] = figure4.measure(problem, name, seconds)
            store.put(task, found[name], time.process_time() - began)
    return found


def timed_passes(panel: Panel, source: Source, pool: Pool, store: Store) -> dict[str, Any]:
    """Table 2's row of one data set."""
    task = {"kind": "passes", "data": file_name(panel), "name": panel.data, "l2": panel.l2}
    pool.report(f"{panel.title}: seconds a pass", 0, 1)
    found = store.get(task)
    if found is None:
        began = time.process_time()
        problem = make_problem(panel, source.A, source.b)
        found = {
            label: table2.seconds_a_pass(problem, label) for label in table2.METHODS_TIMED
        }  # fmt: skip
        store.put(task, found, time.process_time() - began)
    pool.report(f"{panel.title}: seconds a pass", 1, 1)
    return {"panel": panel.key, "data": panel.data, **found}


def judge_all(outcome: Outcome) -> None:
    """Verdicts of the claims whose curves are there."""
    panels = {
        (curves.panel.key, curves.panel.loss): curves
        for figure in outcome.curves.values()
        for curves in figure
    }
    for claim in CLAIMS:
        if (claim.panel, claim.loss) in panels:
            outcome.verdicts.append(judge(claim, panels[claim.panel, claim.loss]))
        extra = panels.get((f"{claim.panel}-uniform", claim.loss))
        if extra is not None:
            outcome.verdicts.append(
                judge(claim._replace(key=f"{claim.key} (uniform sampling)"), extra)
            )
    if outcome.table2:
        outcome.verdicts.append(judge_times(outcome.table2))


def write_everything(place: Path, outcome: Outcome) -> None:
    """Pictures, curves, tables, verdicts, report."""
    for name, curves in outcome.curves.items():
        CURVES[name].draw(place, curves)
        for panel in curves:
            write_csv(place / "curves" / f"{name}-{panel.panel.key}.csv", panel)
    if outcome.runs4:
        figure4.draw(place, outcome.panels4, outcome.runs4)
        for panel in outcome.panels4:
            key = panel.panel.key
            figure4.write_csv(place / "curves" / f"figure4-{key}.csv", panel, outcome.runs4[key])
    if outcome.rates:
        figure5.draw(place, outcome.rates)
        figure5.write_csv(place / "curves" / "figure5.csv", outcome.rates)
    if outcome.verdicts:
        rows = [v._asdict() for v in outcome.verdicts]
        _write(place / "verdicts.json", json.dumps(rows, indent=1))
        short = [
            {"claim": v.key, "the paper says": v.text, "ran on": v.data, "verdict": v.verdict,
             "computed": v.evidence}
            for v in outcome.verdicts
        ]  # fmt: skip
        _write(place / "verdicts.md", markdown_table(short) + "\n")
    write_report(place, outcome)


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))
