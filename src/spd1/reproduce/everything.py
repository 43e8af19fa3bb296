"""Run what was asked for, draw it, judge it, and write the report, piece by piece."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ..errors import ParameterError
from ..io.arrays import write_npz
from . import figure1, figure2, figure5, figure6, table1
from .curves import PanelCurves
from .outcome import Outcome
from .panels import panel_curves, planned_work
from .pool import Pool
from .problems import Panel, Source, choose_sources, file_name, panels_of
from .settings import FULL, LONG, QUICK, TARGETS, Settings
from .store import Store, WallClock
from .talk import Progress, Report, Talk, silent
from .timed import timed_passes, timed_runs
from .writing import CURVES, make_folder, write_figure, write_page

__all__ = ["TARGETS", "Outcome", "reproduce"]

DRAW_AGAIN = 180.0  # seconds after which a figure is drawn before it is complete
REAL = tuple(key for key in figure2.PANELS if key != "rcv1-uniform")


def reproduce(
    targets: Sequence[str] | None = None,
    *,
    quick: bool = False,
    long: bool = False,
    out: str | Path = "reproduction",
    folder: str | Path | None = None,
    download: bool = False,
    jobs: int | None = None,
    report: Report = silent,
    settings: Settings | None = None,
) -> Outcome:
    """Reproduce figures and tables of the paper, and judge its claims.

    Parameters
    ----------
    targets : names of ``TARGETS``; default: all, but for figures 4 and 6 if ``quick``
    quick : bool
        Fewer passes, tries, seeds and draws, thinned data, no draws of non-zeros: minutes instead
        of an hour.
    long : bool
        More passes, all of gisette, a larger part of sparse data for uniform draws: hours.
    out : folder for pictures, curves, tables and the page ``report.html``; each is written as soon
        as it is finished. Finished runs are kept in it, so that a second call goes on where the
        first was stopped
    folder : folder with data files; default: the one that ``SPD1_DATA`` names
    download : bool
        Whether missing LIBSVM files may be downloaded.
    jobs : processes; default: two, if there are as many cores
    report : called with a ``Progress`` when something begins
    settings : Settings, optional
        Other settings than those of ``quick`` and ``long``.
    """
    settings = settings or (QUICK if quick else LONG if long else FULL)
    targets = settings.targets if targets is None else targets
    unknown = [name for name in targets if name not in TARGETS]
    if unknown:
        names = ", ".join(TARGETS)
        raise ParameterError(f"unknown target {unknown[0]!r}: choose from all, {names}")
    place = make_folder(out)
    outcome = Outcome(settings)
    outcome.jobs = jobs or min(2, os.cpu_count() or 1)
    store = Store(place / "runs" / settings.name)
    wall = WallClock(store)

    def ticking(progress: Progress) -> None:
        wall.tick()
        report(progress)

    talk = Talk(ticking)
    talk.say("reading data")
    wanted = needed_panels(targets, settings)
    sources, outcome.missing = choose_sources(wanted, settings, folder, download)
    with tempfile.TemporaryDirectory(prefix="spd1-") as scratch:
        write_data(Path(scratch), sources)
        with Pool(store, Path(scratch), outcome.jobs, talk) as pool:
            run_curves(targets, outcome, pool, sources, place)
    run_alone(targets, outcome, talk, sources, store, place)
    outcome.seconds, outcome.processor = wall.tick(), outcome.processor + store.processor
    write_page(place, outcome)
    return outcome


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


def write_data(scratch: Path, sources: list[Source]) -> None:
    """Put every draw of the data where the processes find it."""
    for source in sources:
        for draw, (A, b) in enumerate([(source.A, source.b), *source.others]):
            write_npz(scratch / f"{file_name(source.panel, draw)}.npz", A, b)


def run_curves(
    targets: Sequence[str], outcome: Outcome, pool: Pool, sources: list[Source], place: Path
) -> None:
    """Figures 1 to 3, panel by panel, those that take longest last; and what figure 4 needs."""
    settings = outcome.settings
    plan = {
        name: _panels(sources, module.PANELS, module.LOSS, settings)
        for name, module in CURVES.items()
        if name in targets
    }
    fourth = _panels(sources, (*figure1.PANELS, *REAL), "logistic", settings)
    todo = dict.fromkeys(panel for panels in plan.values() for panel in panels)
    if "figure4" in targets:
        todo |= dict.fromkeys(fourth)
    pool.talk.planned = sum(planned_work(panel, settings) for panel in todo)
    if todo:
        shown = (f"{panel.key} {panel.loss} {panel.horizon} passes" for panel in todo)
        pool.talk.say(f"plan: {', '.join(shown)}")
    known: dict[Panel, PanelCurves] = {}
    drawn = 0.0
    for name, panels in plan.items():
        for panel in sorted(panels, key=lambda panel: planned_work(panel, settings)):
            known[panel] = panel_curves(pool, panel, settings)
            outcome.curves[name] = [known[p] for p in panels if p in known]
            count = len(outcome.curves[name])
            if count == len(panels) or pool.talk.seconds - drawn > DRAW_AGAIN:
                pool.talk.say(f"{name}: drawing {count} of {len(panels)} panels")
                write_figure(place, name, outcome)
                write_page(place, outcome)
                drawn = pool.talk.seconds
    if "figure4" in targets:
        for panel in fourth:
            outcome.panels4.append(known.get(panel) or panel_curves(pool, panel, settings))


def _panels(
    sources: list[Source], keys: Sequence[str], loss: str, settings: Settings
) -> list[Panel]:
    """The panels of some keys, in their order."""
    mine = sorted((s for s in sources if s.panel in keys), key=lambda s: keys.index(s.panel))
    return panels_of(mine, loss, settings)


def run_alone(
    targets: Sequence[str],
    outcome: Outcome,
    talk: Talk,
    sources: list[Source],
    store: Store,
    place: Path,
) -> None:
    """What is timed, one run at a time, and what takes no time."""
    by_panel = {source.panel: source for source in sources}
    whole = [source.before or source for source in sources]
    if "table1" in targets:
        outcome.table1 = table1.rows(whole)
    if "figure5" in targets:
        talk.say("figure5: Theorems 1 to 3")
        began = time.process_time()
        outcome.rates = figure5.measure_rates(outcome.settings.theorem_passes)
        outcome.processor = time.process_time() - began
        write_figure(place, "figure5", outcome)
    if "figure6" in targets:
        talk.say("figure6: convergence against staleness")
        outcome.races = figure6.measure_races()
        write_figure(place, "figure6", outcome)
    if "table2" in targets:
        mine = [source for source in whole if source.panel in REAL]
        for source, panel in zip(mine, panels_of(mine, "logistic", outcome.settings), strict=True):
            outcome.table2.append(timed_passes(panel, source, talk, store))
    for curves in outcome.panels4:
        panel = curves.panel
        outcome.runs4[panel.key] = timed_runs(
            panel, by_panel[panel.key], outcome.settings, talk, store
        )
    if outcome.runs4:
        talk.say("figure4: drawing")
        write_figure(place, "figure4", outcome)
