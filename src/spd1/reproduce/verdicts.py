"""The paper's claims V1 to V10, each with a verdict computed from the curves.

Rule
----
Every claim is judged twice, once against textbook rivals and once against best-tuned ones
(``readings``). For two methods a and b on a panel, the lead of a at a pass (the paper's count) is
log10(s_b / s_a), s being the median of P(x) - P* over seeds and draws of the data. *The* lead is
its mean over the second half of the passes, up to the pass at which the first of the two reaches
the accuracy of P*. A claim is a list of statements:

* "a ahead of b": lead above 0.1 (a factor 1.26);
* "a well ahead of b": lead above 0.3 (a factor 2);
* "a close to b at the end": s_a and s_b within a factor 2 at the last pass.

All statements hold: reproduced. Some: partly. None: not reproduced. A rival that diverged is
behind. Where a lead was there at some passes only, they are named; they do not count.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .curves import PanelCurves
from .readings import READINGS
from .settings import NAMES
from .table2 import PAPER_SECONDS

__all__ = [
    "CLAIMS", "LEADS", "Claim", "Verdict", "finish", "judge", "judge_times", "lead", "lead_at",
    "median_at", "spans",
]  # fmt: skip

LEADS, WELL_AHEAD, CLOSE = 0.1, 0.3, math.log10(2.0)
POINTS = 41  # where the second half of two curves is compared


class Claim(NamedTuple):
    """What the paper says about a panel."""

    key: str
    panel: str
    loss: str
    text: str
    statements: tuple[tuple[str, str, str], ...]  # kind, a, b


class Verdict(NamedTuple):
    """A claim, what became of it in one reading, and the numbers behind that."""

    key: str
    reading: str
    text: str
    data: str
    verdict: str
    evidence: list[str]
    remarks: list[str]


def _colon(key: str, loss: str) -> Claim:
    text = "colon-cancer: SPD1-VR dominates, SPD1 beats PSGD"
    rest = tuple(("well ahead", "spd1-vr", other) for other in ("svrg", "saga", "spd1", "psgd"))
    return Claim(key, "colon", loss, text, (*rest, ("ahead", "spd1", "psgd")))


def _gisette(key: str, loss: str) -> Claim:
    text = "gisette: SPD1-VR best, SPD1 slower than PSGD"
    rest = tuple(("ahead", "spd1-vr", other) for other in ("svrg", "saga", "spd1", "psgd"))
    return Claim(key, "gisette", loss, text, (*rest, ("ahead", "psgd", "spd1")))


def _rcv1(key: str, loss: str) -> Claim:
    text = "rcv1.binary: SPD1 beats PSGD, SPD1-VR beats SVRG and SAGA"
    pairs = (("spd1", "psgd"), ("spd1-vr", "svrg"), ("spd1-vr", "saga"))
    return Claim(key, "rcv1-uniform", loss, text, tuple(("ahead", a, b) for a, b in pairs))


CLAIMS = (
    Claim(
        "V1", "d100", "logistic",
        "d = 100: SPD1 slower than PSGD, SPD1-VR behind SVRG and SAGA",
        (("ahead", "psgd", "spd1"), ("ahead", "svrg", "spd1-vr"), ("ahead", "saga", "spd1-vr")),
    ),
    Claim(
        "V2", "d1000", "logistic",
        "d = 1000: SPD1 ends close to PSGD, SPD1-VR ahead of SVRG and SAGA",
        (("close", "spd1", "psgd"), ("ahead", "spd1-vr", "svrg"), ("ahead", "spd1-vr", "saga")),
    ),
    Claim(
        "V3", "d10000", "logistic",
        "d = 10000: SPD1 faster than PSGD, SPD1-VR well ahead of SVRG and SAGA",
        (("ahead", "spd1", "psgd"), ("well ahead", "spd1-vr", "svrg"),
         ("well ahead", "spd1-vr", "saga")),
    ),
    _colon("V4", "logistic"), _gisette("V5", "logistic"), _rcv1("V6", "logistic"),
    _colon("V7", "squared_hinge"), _gisette("V8", "squared_hinge"), _rcv1("V9", "squared_hinge"),
)  # fmt: skip


def median_at(panel: PanelCurves, method: str, passes: np.ndarray) -> np.ndarray:
    """Median of P(x) - P* over the seeds at these passes, log-linear between points."""
    across, band = panel.band(method)
    return np.asarray(np.exp(np.interp(passes, across, np.log(band[1]))))


def lead_at(panel: PanelCurves, a: str, b: str, passes: np.ndarray) -> np.ndarray:
    """log10(s_b / s_a) at these passes; minus infinity where a diverged."""
    with np.errstate(all="ignore"):
        found = np.log10(median_at(panel, b, passes)) - np.log10(median_at(panel, a, passes))
    return np.asarray(np.where(np.isnan(found), -math.inf, found))


def lead(panel: PanelCurves, a: str, b: str) -> float:
    """Mean of log10(s_b / s_a) over the second half of the passes."""
    end = finish(panel, a, b)
    return float(np.mean(lead_at(panel, a, b, np.linspace(0.5 * end, end, POINTS))))


def spans(panel: PanelCurves, a: str, b: str, least: float) -> list[tuple[int, int]]:
    """The whole passes, first and last, between which the lead of a over b is above ``least``."""
    passes = np.arange(1, math.floor(finish(panel, a, b)) + 1)
    above = np.concatenate(([False], lead_at(panel, a, b, passes) > least, [False]))
    turns = np.flatnonzero(above[1:] != above[:-1])
    pairs = zip(turns[::2], turns[1::2], strict=True)
    return [(int(passes[k]), int(passes[m - 1])) for k, m in pairs]


def finish(panel: PanelCurves, a: str, b: str) -> float:
    """The pass at which the first of two methods reaches the accuracy of P*, or the last one."""
    return min(_finish(panel, a), _finish(panel, b))


def _finish(panel: PanelCurves, method: str) -> float:
    """The pass at which a method reaches the accuracy of P*, or its last one."""
    across, band = panel.band(method)
    there = np.flatnonzero(band[1] <= panel.floor)
    return float(across[there[0]] if len(there) else panel.panel.horizon)


def judge(claim: Claim, panel: PanelCurves, reading: str = "tuned") -> Verdict:
    """Test the statements of a claim in one reading; ``panel`` holds the rivals of that reading."""
    found = [_test(panel, *statement) for statement in claim.statements]
    holds = [true for true, _ in found]
    evidence = [("yes: " if true else "no: ") + shown for true, shown in found]
    return Verdict(
        claim.key, READINGS[reading], claim.text, _title(panel), summed(holds), evidence,
        _remarks(panel),
    )  # fmt: skip


def summed(holds: list[bool]) -> str:
    """The verdict on a claim whose statements hold or not."""
    return "reproduced" if all(holds) else "partly" if any(holds) else "not reproduced"


def _test(panel: PanelCurves, kind: str, a: str, b: str) -> tuple[bool, str]:
    """Whether a statement holds, and the number that says so."""
    if kind == "close":
        end = np.array([float(panel.panel.horizon)])
        distance = float(lead_at(panel, a, b, end)[0])
        return abs(distance) <= CLOSE, f"{NAMES[a]} ends at {_factor(-distance)} times {NAMES[b]}"
    least = LEADS if kind == "ahead" else WELL_AHEAD
    distance = lead(panel, a, b)
    shown = f"{NAMES[a]} {kind} of {NAMES[b]}: factor {_factor(distance)}"
    return distance > least, shown + _when(spans(panel, a, b, least), finish(panel, a, b))


def _when(pieces: list[tuple[int, int]], end: float) -> str:
    """When a lead was there, if that was at some passes only."""
    last = math.floor(end)
    if not pieces:
        return " (at no pass)"
    if len(pieces) == 1 and pieces[0][0] <= 2 and pieces[0][1] >= last - 1:
        return ""
    shown = " and ".join(f"{k} to {m}" if m > k else f"{k}" for k, m in pieces[:3])
    return f" (at passes {shown}{' and later' if len(pieces) > 3 else ''} of {last})"


def _title(panel: PanelCurves) -> str:
    """The data as the pictures name it, on one line."""
    return panel.panel.title.partition("\n")[0]


def _factor(exponent: float) -> str:
    """A power of ten with two digits, without an exponent unless it is tiny or huge."""
    if math.isinf(exponent):
        return "infinity" if exponent > 0 else "0"
    if exponent > 12.0:
        return "above 1e12"
    value = 10.0**exponent
    return f"{value:,.0f}" if 100 <= value < 1e5 else f"{value:.2g}"


def _remarks(panel: PanelCurves) -> list[str]:
    """What may explain a verdict: data, sampling, steps."""
    remarks = []
    if not panel.panel.original:
        remarks.append("not the paper's data")
    if panel.panel.sampling == "nonzeros":
        remarks.append("SPD1 and SPD1-VR draw stored entries, T = their number: not as published")
    diverged = [NAMES[m] for m in NAMES if not panel.band(m)[0][-1] >= panel.panel.horizon - 1e-9]
    if diverged:
        remarks.append(f"diverged: {', '.join(diverged)}")
    edge = [NAMES[m] for m in NAMES if panel.methods[m].at_edge]
    if edge:
        remarks.append(f"best step at the edge of what was tried: {', '.join(edge)}")
    shown = ", ".join(f"{NAMES[m]} {_steps(panel.methods[m].steps)}" for m in NAMES)
    remarks.append(f"steps: {shown}")
    return remarks


def _steps(steps: dict[str, float]) -> str:
    return " ".join(f"{name}={value:.2g}" for name, value in steps.items() if value)


def judge_times(rows: list[dict[str, Any]]) -> Verdict:
    """V10: a pass of SPD1, one entry a step, takes 2 to 4 times a pass of SGD.

    ``rows`` are those of table 2: one a data set, with the seconds a pass of each method. The
    readings do not differ here.
    """
    holds, evidence = [], []
    for row in rows:
        ratio, tiled = row["spd1"] / row["psgd"], row["spd1-vr tiles"] / row["psgd"]
        holds.append(2.0 <= ratio <= 4.0)
        paper = PAPER_SECONDS[row["panel"]]
        evidence.append(
            f"{'yes' if holds[-1] else 'no'}: {row['data']}: {ratio:,.0f} times one entry a step, "
            f"{tiled:.2g} times SPD1-VR on tiles; seconds a pass of SPD1 {row['spd1']:.3g} (the "
            f"paper, on its data: {paper['spd1']:g}), of PSGD {row['psgd']:.3g} ({paper['psgd']:g})"
        )
    remarks = ["PSGD here is compiled and reads rows in order of memory; tiles are the cure the "
               "paper asks for"]  # fmt: skip
    data = ", ".join(row["data"] for row in rows)
    return Verdict("V10", "both", "a pass of SPD1 takes 2 to 4 times a pass of SGD", data,
                   summed(holds), evidence, remarks)  # fmt: skip
