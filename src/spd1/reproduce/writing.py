"""Files of a reproduction: pictures, curves, verdicts; each written whole, when it is finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import replacing
from . import figure1, figure2, figure3, figure4, figure5, figure6
from .curves import write_csv
from .outcome import Outcome
from .page import write_report
from .readings import READINGS
from .report import markdown_table
from .verdicts import CLAIMS, Verdict, judge, judge_times

__all__ = ["CURVES", "judge_all", "make_folder", "verdict_rows", "write_figure", "write_page"]

CURVES: dict[str, Any] = {"figure1": figure1, "figure2": figure2, "figure3": figure3}


def make_folder(out: str | Path) -> Path:
    """The folder for all that is written, with its sub-folders."""
    place = Path(out)
    try:
        (place / "curves").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{place} can't be written: {error.strerror}") from None
    return place


def judge_all(outcome: Outcome) -> list[Verdict]:
    """Both verdicts of every claim whose curves are there; draws of non-zeros beside them."""
    panels = {
        (curves.panel.key, curves.panel.loss): curves
        for figure in outcome.curves.values()
        for curves in figure
    }
    verdicts = []
    for claim in CLAIMS:
        ours = claim._replace(key=f"{claim.key}, non-zero draws (ours)")
        plain = claim.panel.removesuffix("-uniform")
        for place, asked in dict.fromkeys([(claim.panel, claim), (plain, ours)]):
            if asked is ours and plain == claim.panel:
                continue
            curves = panels.get((place, claim.loss))
            if curves is not None:
                verdicts += [judge(asked, curves.read(r), r) for r in ("textbook", "tuned")]
    if outcome.table2:
        verdicts.append(judge_times(outcome.table2))
    return verdicts


def write_figure(place: Path, name: str, outcome: Outcome) -> None:
    """The pictures and curves of one figure, as far as it has come."""
    if name in CURVES:
        curves = outcome.curves[name]
        CURVES[name].draw(place, curves)
        for panel in curves:
            write_csv(place / "curves" / f"{name}-{panel.panel.key}.csv", panel)
    elif name == "figure4":
        done = [panel for panel in outcome.panels4 if panel.panel.key in outcome.runs4]
        figure4.draw(place, done, outcome.runs4)
        for panel in done:
            key = panel.panel.key
            figure4.write_csv(place / "curves" / f"figure4-{key}.csv", panel, outcome.runs4[key])
    elif name == "figure6":
        figure6.draw(place, outcome.races)
        figure6.write_csv(place / "curves" / "figure6.csv", outcome.races)
    else:
        figure5.draw(place, outcome.rates)
        figure5.write_csv(place / "curves" / "figure5.csv", outcome.rates)


def write_page(place: Path, outcome: Outcome) -> None:
    """Verdicts of what is there, and the page."""
    outcome.verdicts = judge_all(outcome)
    if outcome.verdicts:
        rows = [v._asdict() for v in outcome.verdicts]
        _write(place / "verdicts.json", json.dumps(rows, indent=1))
        _write(place / "verdicts.md", markdown_table(verdict_rows(outcome.verdicts)) + "\n")
    write_report(place, outcome)


def verdict_rows(verdicts: list[Verdict]) -> list[dict[str, str]]:
    """A row a claim, a column a reading: the verdict and the numbers behind it."""
    rows: dict[str, dict[str, str]] = {}
    empty = {f"against {reading}": "" for reading in READINGS.values()}
    for v in verdicts:
        row = {"claim": v.key, "the paper says": v.text, "ran on": v.data, **empty}
        found = f"**{v.verdict}**: " + "; ".join(v.evidence)
        if v.reading in READINGS.values():
            rows.setdefault(v.key, row)[f"against {v.reading}"] = found
        else:  # no rivals
            first = next(iter(empty))
            rows[v.key] = row | {first: found}
    return list(rows.values())


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))
