"""Verdicts follow their stated rule: on curves whose verdict is known by construction."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spd1
from spd1.reproduce.curves import MethodCurves, Optimum, PanelCurves, Shown
from spd1.reproduce.problems import PAPER, Panel
from spd1.reproduce.readings import TEXTBOOK, textbook_steps
from spd1.reproduce.runs import Curve
from spd1.reproduce.settings import FULL, LONG, NAMES, QUICK
from spd1.reproduce.verdicts import CLAIMS, judge, judge_times, lead, lead_at, median_at, spans
from spd1.reproduce.writing import verdict_rows

OPTIMUM = 0.25


def panel_of(rates, horizon=20, loss="logistic", key="d100", original=True, sampling="uniform"):
    """Curves s(p) = 10^(-rate p), three seeds that differ by +-10 per cent."""
    panel = Panel(key, "data", "title\nmore", loss, 0.1, sampling, horizon, original)
    passes = np.arange(horizon + 1.0)
    methods = {}
    for method, rate in rates.items():
        runs = [
            Shown(
                0, seed, Curve(passes, passes, passes, OPTIMUM + factor * 10.0 ** (-rate * passes))
            )
            for seed, factor in enumerate((0.9, 1.0, 1.1))
        ]
        methods[method] = MethodCurves(method, {"eta": 1.0}, [], False, runs)
    return PanelCurves(panel, [Optimum(OPTIMUM, 1e-13, OPTIMUM + 1.0)], methods)


def rates(**changes):
    return {"psgd": 0.1, "spd1": 0.1, "svrg": 0.1, "saga": 0.1, "spd1-vr": 0.1} | changes


def test_the_lead_is_the_mean_log_ratio_over_the_second_half():
    panel = panel_of(rates(svrg=0.2))
    assert lead(panel, "svrg", "saga") == pytest.approx(0.1 * 15)  # mean pass of 10 .. 20
    assert lead(panel, "saga", "svrg") == pytest.approx(-0.1 * 15)
    assert lead(panel, "saga", "psgd") == pytest.approx(0.0)


def test_a_curve_at_the_accuracy_of_the_optimum_ends_the_comparison():
    panel = panel_of(rates(svrg=2.0, saga=1.0))
    finish = math.ceil(12.0 / 2.0 - math.log10(OPTIMUM) / 2.0)  # first pass at 1e-12 P* or below
    expected = np.linspace(finish / 2, finish, 41)
    assert lead(panel, "svrg", "saga") == pytest.approx(np.mean(expected), rel=0.05)


def test_the_median_is_taken_and_read_between_points():
    panel = panel_of(rates(svrg=0.2))
    np.testing.assert_allclose(median_at(panel, "svrg", np.array([3.0, 3.5])), [10**-0.6, 10**-0.7])


def test_the_lead_is_known_pass_by_pass():
    panel = panel_of(rates(svrg=0.2))
    np.testing.assert_allclose(lead_at(panel, "svrg", "saga", np.array([0.0, 10.0])), [0.0, 1.0])
    assert spans(panel, "svrg", "saga", 0.55) == [(6, 20)]
    assert spans(panel, "saga", "svrg", 0.1) == []


def test_what_was_true_for_a_while_is_named_and_does_not_count():
    """SPD1-VR is ahead up to pass 8 and behind from pass 9 on."""
    panel = panel_of(rates())
    [run] = panel.methods["spd1-vr"].runs[1:2]
    left = np.where(run.curve.paper_passes <= 8, 0.1, 10.0) * (run.curve.primal - OPTIMUM)
    curve = run.curve._replace(primal=OPTIMUM + left)
    mine = panel.methods["spd1-vr"]._replace(runs=[run._replace(curve=curve)])
    panel = panel._replace(methods=panel.methods | {"spd1-vr": mine})
    found = judge(claim("V2"), panel)
    assert "no: SPD1-VR ahead of SVRG: factor 0.1 (at passes 1 to 8 of 20)" in found.evidence


def test_a_rival_that_diverged_is_behind():
    panel = panel_of(rates())
    worse = [
        run._replace(
            curve=Curve(*(column[:4] for column in run.curve[:3]), np.array([1, 9, 1e9, np.inf]))
        )
        for run in panel.methods["psgd"].runs
    ]
    mine = panel.methods["psgd"]._replace(runs=worse)
    found = judge(claim("V3"), panel._replace(methods=panel.methods | {"psgd": mine}))
    assert found.evidence[0].startswith("yes: SPD1 ahead of PSGD: factor infinity")
    assert "diverged: PSGD" in found.remarks


def test_draws_have_optima_of_their_own():
    panel = panel_of(rates())
    other = [
        run._replace(draw=1, curve=run.curve._replace(primal=run.curve.primal + 3.0))
        for run in panel.methods["svrg"].runs
    ]
    mine = panel.methods["svrg"]._replace(runs=panel.methods["svrg"].runs + other)
    both = panel._replace(
        methods=panel.methods | {"svrg": mine},
        optima=[*panel.optima, Optimum(OPTIMUM + 3.0, 1e-13, OPTIMUM + 4.0)],
    )
    np.testing.assert_allclose(both.band("svrg")[1], panel.band("svrg")[1], atol=1e-14)


def test_a_reading_chooses_the_rivals():
    """Textbook rivals under plain names; of two textbook SVRGs the better one at the end."""
    names = dict(zip(TEXTBOOK, (0.02, 0.03, 0.05, 0.04), strict=True))
    panel = panel_of(rates() | names)
    textbook, tuned = panel.read("textbook"), panel.read("tuned")
    assert list(tuned.methods) == list(NAMES)
    for name in ("spd1", "spd1-vr"):
        assert textbook.methods[name] is tuned.methods[name] is panel.methods[name]
    assert textbook.methods["psgd"] is panel.methods["psgd 2/(lambda(t+4))"]
    assert textbook.methods["svrg"] is panel.methods["svrg 1/(3L)"]
    assert textbook.methods["svrg 0.1/L"] is panel.methods["svrg 0.1/L"]  # drawn, not judged
    assert judge(claim("V2"), textbook, "textbook").reading == "textbook rivals"


def test_textbook_steps_are_those_of_the_literature():
    A = np.array([[3.0, 4.0], [0.0, 1.0]])
    steps = textbook_steps(spd1.Problem(A, [1, -1], "squared_hinge", spd1.L2(0.2)))
    smoothness = 25.0 / 0.5  # |a_i|^2 / gamma
    assert steps["svrg 0.1/L"]["eta"] == pytest.approx(0.1 / smoothness)
    assert steps["svrg 1/(3L)"] == steps["saga 1/(3L)"]
    assert steps["saga 1/(3L)"]["eta"] == pytest.approx(1 / (3 * smoothness))
    assert steps["psgd 2/(lambda(t+4))"] == pytest.approx({"eta": 2 / 0.2, "offset": 4.0})
    assert set(steps) == set(TEXTBOOK)


def claim(key):
    return next(claim for claim in CLAIMS if claim.key == key)


@pytest.mark.parametrize(
    ("key", "changes", "verdict"),
    [
        ("V1", {"psgd": 0.2, "svrg": 0.2, "saga": 0.2}, "reproduced"),
        ("V1", {"psgd": 0.2}, "partly"),
        ("V1", {"spd1": 0.2, "spd1-vr": 0.2}, "not reproduced"),
        ("V1", {}, "not reproduced"),
        ("V2", {"spd1-vr": 0.2}, "reproduced"),
        ("V2", {"spd1": 0.2}, "not reproduced"),
        ("V2", {}, "partly"),
        ("V3", {"spd1": 0.2, "spd1-vr": 0.2}, "reproduced"),
        ("V3", {"spd1": 0.2, "spd1-vr": 0.11}, "partly"),  # ahead, but not well ahead
        ("V4", {"spd1": 0.12, "spd1-vr": 0.2}, "reproduced"),
        ("V5", {"psgd": 0.12, "spd1-vr": 0.2}, "reproduced"),
        ("V5", {"spd1": 0.12, "spd1-vr": 0.2}, "partly"),
        ("V6", {"spd1": 0.12, "spd1-vr": 0.2}, "reproduced"),
        ("V6", {"psgd": 0.3, "svrg": 0.3, "saga": 0.3}, "not reproduced"),
    ],
)
def test_verdicts(key, changes, verdict):
    found = judge(claim(key), panel_of(rates(**changes)))
    assert found.verdict == verdict
    yes = sum(line.startswith("yes") for line in found.evidence)
    assert len(found.evidence) == len(claim(key).statements)
    assert {len(found.evidence): "reproduced", 0: "not reproduced"}.get(yes, "partly") == verdict


def test_squared_hinge_claims_mirror_the_logistic_ones():
    for logistic, hinge in (("V4", "V7"), ("V5", "V8"), ("V6", "V9")):
        assert claim(logistic).statements == claim(hinge).statements
        assert (claim(logistic).loss, claim(hinge).loss) == ("logistic", "squared_hinge")


def test_remarks_name_stand_ins_sampling_and_edges():
    panel = panel_of(rates(), original=False, sampling="nonzeros")
    edge = panel.methods["svrg"]._replace(at_edge=True)
    panel = panel._replace(methods=panel.methods | {"svrg": edge})
    remarks = " ".join(judge(claim("V1"), panel).remarks)
    assert "not the paper's data" in remarks
    assert "stored entries" in remarks
    assert "edge of what was tried: SVRG" in remarks
    assert "steps: PSGD eta=1" in remarks


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((2.0, 3.0, 4.0), "reproduced"),
        ((3.0, 9.0, 1.0), "partly"),
        ((9.0, 1.0, 5.0), "not reproduced"),
    ],
)
def test_seconds_a_pass(ratios, verdict):
    rows = [
        {"panel": "gisette", "data": f"set {r}", "spd1": r, "psgd": 1.0, "spd1-vr tiles": 0.5}
        for r in ratios
    ]
    found = judge_times(rows)
    assert (found.key, found.verdict) == ("V10", verdict)
    assert all("0.5 times SPD1-VR on tiles" in line for line in found.evidence)
    assert all("(the paper, on its data: 2.7)" in line for line in found.evidence)


def test_every_claim_of_the_paper_has_its_panel():
    assert [c.key for c in CLAIMS] == [f"V{k}" for k in range(1, 10)]
    for settings in (QUICK, FULL, LONG):
        assert {c.panel for c in CLAIMS} <= set(settings.horizons)
        assert settings.tuning_seed not in settings.seeds
        assert len(settings.seeds) == (3 if settings is QUICK else 5)
        assert settings.draws == (1 if settings is QUICK else 2)
    assert all(LONG.horizons[k] >= h for k, h in FULL.horizons.items())
    assert set(NAMES) == {"psgd", "spd1", "svrg", "saga", "spd1-vr"}
    assert PAPER["rcv1"] == ("rcv1.binary", 20_242, 47_236, 1e-3)


def test_verdicts_stand_side_by_side_a_row_a_claim():
    curves = panel_of(rates(svrg=0.2))
    both = [judge(claim("V1"), curves, reading) for reading in ("textbook", "tuned")]
    seconds = {"panel": "colon", "data": "colon", "spd1": 3.0, "psgd": 1.0, "spd1-vr tiles": 0.5}
    first, second = verdict_rows([*both, judge_times([seconds])])
    assert (first["claim"], second["claim"]) == ("V1", "V10")
    for verdict in both:
        shown = first[f"against {verdict.reading}"]
        assert shown == f"**{verdict.verdict}**: " + "; ".join(verdict.evidence)
    assert second["against textbook rivals"].startswith("**reproduced**")
    assert second["against best-tuned rivals"] == ""
