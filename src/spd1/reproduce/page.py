"""report.html: figures, tables, verdicts, settings, machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import replacing
from . import (
    figure1,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    grids,
    leads,
    readings,
    table1,
    table2,
    verdicts,
)
from .curves import PanelCurves
from .outcome import Outcome
from .report import Page, machine
from .settings import NAMES, Settings

__all__ = ["write_report"]

STEPS_NOTE = "Steps: those that won the tuning, and the textbook's (of the first draw)."
TITLE = "Stochastic primal-dual methods with O(1) iterations (NeurIPS 2018), reproduced by spd1"


def write_report(place: Path, outcome: Outcome) -> None:
    """Write the page, whole or not at all."""
    page = Page(TITLE)
    _introduction(page, outcome)
    _verdicts(page, outcome)
    _figures(page, place, outcome)
    _tables(page, outcome)
    _settings(page, outcome)
    with replacing(place / "report.html") as stream:
        stream.write(page.html().encode("utf-8"))


def _introduction(page: Page, outcome: Outcome) -> None:
    summary = "; ".join(
        f"against {reading}: {_counts([v for v in outcome.verdicts if v.reading == reading])}"
        for reading in readings.READINGS.values()
    )
    page.text(
        f"A {outcome.settings.name} run: {outcome.processor / 60:.1f} minutes of processor time, "
        f"{outcome.seconds / 60:.1f} minutes on the clock with {outcome.jobs} "
        f"process{'es' if outcome.jobs > 1 else ''}. Verdicts {summary}."
    )
    if outcome.settings.note:
        page.text(outcome.settings.note)
    if outcome.missing:
        page.text("Data that is not the paper's:").bullets(outcome.missing)


def _counts(verdicts: list[verdicts.Verdict]) -> str:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _verdicts(page: Page, outcome: Outcome) -> None:
    if not outcome.verdicts:
        return
    page.heading("What the paper claims, and what came out")
    page.table(
        [
            {"claim": v.key, "rivals": v.reading, "the paper says": v.text, "ran on": v.data,
             "verdict": v.verdict, "computed": v.evidence, "remarks": v.remarks}
            for v in outcome.verdicts
        ]
    )  # fmt: skip
    rule = (verdicts.__doc__ or "").split("----\n", 1)[1].strip()
    page.text("The rule:", note=True).preformatted(rule)
    page.text("The readings:", note=True).preformatted((readings.__doc__ or "").strip())


def _figures(page: Page, place: Path, outcome: Outcome) -> None:
    modules: dict[str, Any] = {"figure1": figure1, "figure2": figure2, "figure3": figure3}
    for name, curves in outcome.curves.items():
        caption = modules[name].CAPTION
        page.heading(caption.split(".")[0])
        page.picture(place / f"{name}.png", caption)
        page.picture(place / f"{name}-leads.png", leads.CAPTION)
        page.picture(
            place / f"{name}-axes.png",
            "The same by entries read and by seconds of processor time.",
        )
        page.table([_steps_row(c) for c in curves], STEPS_NOTE)
    if (place / "figure4.png").exists() and outcome.runs4:
        page.heading("Figure 4").picture(place / "figure4.png", figure4.CAPTION)
    if outcome.rates:
        page.heading("Figure 5").picture(place / "figure5.png", figure5.CAPTION)
        page.table(
            [
                {"theorem": r.title.replace("\n", ", "), "measured": r.summary,
                 "never above the bound": "yes" if r.holds else "NO"}
                for r in outcome.rates
            ]
        )  # fmt: skip
    if outcome.races:
        page.heading("Figure 6").picture(place / "figure6.png", figure6.CAPTION)


def _steps_row(curves: PanelCurves) -> dict[str, str]:
    row = {
        "data": curves.panel.title.replace("\n", ", "),
        "P*": "; ".join(f"{o.value:.12g} (gap {o.rel_gap:.0e})" for o in curves.optima),
        "tries": str(len(curves.methods["svrg"].tried)),
    }
    for method, mine in curves.methods.items():
        text = ", ".join(f"{name} {value:.2g}" for name, value in mine.steps.items())
        row[NAMES.get(method, method)] = text + (
            " (edge of what was tried)" if mine.at_edge else ""
        )
    return row


def _tables(page: Page, outcome: Outcome) -> None:
    if outcome.table1:
        page.heading("Table 1").table(outcome.table1, table1.CAPTION)
    if outcome.table2:
        rows = []
        for row in outcome.table2:
            paper = table2.PAPER_SECONDS[row["panel"]]
            rows.append(
                {"data": row["data"]}
                | {
                    label: f"{row[label]:.3g}" + (f" ({paper[label]:g})" if label in paper else "")
                    for label in table2.METHODS_TIMED
                }
            )
        page.heading("Table 2").table(rows, table2.CAPTION)


def _settings(page: Page, outcome: Outcome) -> None:
    s = outcome.settings
    page.heading("How it was run")
    page.bullets(
        [
            "T = nd inner steps a snapshot for SPD1-VR (stored entries where it draws those), n "
            "for SVRG; a snapshot counts as one pass in the paper's count (its Table 2 fits two "
            "passes an outer loop, one for the snapshot) and as two in entries read. SAGA's first "
            "table is one pass.",
            f"Steps: {_stages(s)}, the same number for every tuned method of a panel, each as long "
            f"as what is shown, with seed {s.tuning_seed} on the first draw of the data; the best "
            f"objective wins; shown with seeds {', '.join(map(str, s.seeds))}, synthetic data in "
            f"{s.draws} draw{'s' if s.draws > 1 else ''}. The rule is below.",
            "Seconds are processor time: of the method alone in Figures 1 to 3 and Table 2, of "
            "whole runs, looks at the certificate included, in Figure 4.",
            "Passes: " + ", ".join(f"{k} {v}" for k, v in s.horizons.items()),
            "P* is a lower bound proven to a relative gap of 1e-12 by spd1's own certificate.",
            "What is plotted: for PSGD and SPD1 the better of the last iterate and of the average "
            "of all iterates; for SVRG and SPD1-VR the last iterate, from which they take their "
            "snapshots; for SAGA the last iterate. Arrows at the top mark values above the frame.",
            "Uniform draws are as published: the paper's Table 2 has 36 ns an entry of the n d "
            "matrix for SGD on gisette and on rcv1 alike, so rcv1 was stored dense. They run on a "
            f"part of the sparse data with at most {s.uniform_entries:,} entries; draws of "
            "non-zeros, on all of it, are ours.",
        ]
    )
    page.preformatted((grids.__doc__ or "").strip())
    page.heading("Machine and versions")
    page.table([{"what": name, "value": value} for name, value in machine().items()])


def _stages(settings: Settings) -> str:
    coarse, tries, most = len(grids.COARSE["svrg"]), settings.tries, settings.most_tries
    if tries <= coarse:
        return f"{coarse} coarse tries"
    more = f", more up to {most} while a best step is at the edge" if most > tries else ""
    return f"{coarse} coarse and {tries - coarse} fine tries{more}"
