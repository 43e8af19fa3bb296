"""Verdicts follow their stated rule: on curves whose verdict is known by construction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1.reproduce.curves import MethodCurves, PanelCurves
from spd1.reproduce.problems import PAPER, Panel
from spd1.reproduce.runs import Curve
from spd1.reproduce.settings import FULL, NAMES, QUICK
from spd1.reproduce.verdicts import CLAIMS, judge, judge_times, lead, median_at

OPTIMUM = 0.25


def panel_of(rates, horizon=20, loss="logistic", key="d100", original=True, sampling="uniform"):
    """Curves s(p) = 10^(-rate p), three seeds that differ by +-10 per cent."""
    panel = Panel(key, "data", "title", loss, 0.1, sampling, horizon, horizon, original)
    passes = np.arange(horizon + 1.0)
    methods = {}
    for method, rate in rates.items():
        curves = [
            Curve(passes, passes, passes, OPTIMUM + factor * 10.0 ** (-rate * passes))
            for factor in (0.9, 1.0, 1.1)
        ]
        methods[method] = MethodCurves(method, {"eta": 1.0}, [], False, curves)
    return PanelCurves(panel, OPTIMUM, 1e-13, OPTIMUM + 1.0, methods)


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
    assert "edge of the grid: SVRG" in remarks
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
    rows = [{"data": f"set {r}", "spd1": r, "psgd": 1.0, "spd1-vr tiles": 0.5} for r in ratios]
    found = judge_times(rows)
    assert (found.key, found.verdict) == ("V10", verdict)
    assert all("0.5 times SPD1-VR on tiles" in line for line in found.evidence)


def test_every_claim_of_the_paper_has_its_panel():
    assert [c.key for c in CLAIMS] == [f"V{k}" for k in range(1, 10)]
    for settings in (QUICK, FULL):
        assert {c.panel for c in CLAIMS} <= set(settings.horizons)
        assert set(settings.horizons) == set(settings.tuning)
        assert all(settings.tuning[k] <= h for k, h in settings.horizons.items())
        assert settings.tuning_seed not in settings.seeds
        assert len(settings.seeds) == 3
    assert set(NAMES) == {"psgd", "spd1", "svrg", "saga", "spd1-vr"}
    assert PAPER["rcv1"] == ("rcv1.binary", 20_242, 47_236, 1e-3)
