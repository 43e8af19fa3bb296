"""Step rules on their own: what they propose after gaps and lags that are made up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import ParameterError
from spd1.control.balance import BalancedSteps, CautiousSteps, ColumnSteps, TileSteps
from spd1.control.inner import InnerSteps
from spd1.control.restarts import Restarts
from spd1.control.steps import (
    AutoSteps,
    FadingSteps,
    FixedSteps,
    NoSteps,
    ScaledSteps,
    Seen,
    make_rule,
)
from spd1.control.tuning import DIVERGED, FAR_WORSE

RULES = [
    CautiousSteps,
    AutoSteps,
    ScaledSteps,
    FadingSteps,
    BalancedSteps,
    ColumnSteps,
    TileSteps,
    NoSteps,
]


class Frozen:
    """A method as rules see it; whoever writes to it is found out."""

    name, fades, tol, tied, passes_ahead, leeway = "frozen", True, 1e-6, False, 1, math.inf
    stale = side_by_side = on_tiles = can_merge = proven_product = False
    care, averaged, level = 1.0, 10, 1.0
    rule = AutoSteps

    def __init__(self, tied=False, names=("eta", "tau"), **more):
        vars(self).update(tied=tied, step_names=names, **more)

    def __setattr__(self, name, value):
        raise AssertionError(f"a rule set {name}")

    def default_steps(self):
        return dict.fromkeys(self.step_names, 1.0)

    def theory_steps(self):
        return {"eta": 2.0, "tau": 3.0}

    def loose_eta(self):
        return 0.5

    def safe_care(self):
        return self.care

    def level_eta(self):
        return self.level


def method_for(rule, tied=False):
    names = {BalancedSteps: ("eta",), ColumnSteps: ("sigma",)}.get(rule, ("eta", "tau"))
    return Frozen(tied, names)


def seen(gap, lag=1.0, mark=0.0):
    return Seen(gap, np.full(2, mark), np.zeros(3), lag, gap)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_proposes_and_touches_nothing(rule, tied, rng):
    """Whatever gaps come along: finite, positive steps under the names that the method has."""
    method = method_for(rule, tied)
    one = rule(method)
    proposals = [one.first()]
    one.start(seen(1.0))
    gaps = [*10.0 ** rng.uniform(-9, 9, 60), math.inf, 1.0, 0.0, math.inf, math.inf, 1e-3]
    for gap in gaps:
        lag = 10.0 ** rng.uniform(-12, 12)
        proposals.append(one.after_epoch(seen(gap, lag)))
    for proposal in proposals:
        assert set(proposal.steps) == (set() if rule is NoSteps else set(method.step_names))
        assert all(0.0 < step < math.inf for step in proposal.steps.values())
        assert proposal.passes_ahead is None or proposal.passes_ahead >= 1
        assert not proposal.diverged  # automatic steps never give up


@pytest.mark.parametrize("rule", [AutoSteps, FadingSteps, BalancedSteps, ColumnSteps, TileSteps])
def test_a_gap_that_explodes_sends_the_run_back_to_its_best_point(rule):
    one = rule(method_for(rule))
    one.first()
    one.start(seen(1.0))
    before = one.after_epoch(seen(0.1, mark=7.0)).steps
    again = one.after_epoch(seen(0.2, mark=8.0))
    assert again.back_to is None  # a little worse is no reason
    proposal = one.after_epoch(seen(100.0 * FAR_WORSE, mark=9.0))
    assert proposal.back_to is not None
    assert proposal.back_to.x[0] == 7.0
    assert math.prod(proposal.steps.values()) < math.prod(before.values())


@pytest.mark.parametrize(("rule", "name", "sign"), [
    (BalancedSteps, "eta", -1), (ColumnSteps, "sigma", 1), (TileSteps, "eta", -1),
    (TileSteps, "tau", 1), (AutoSteps, "eta", -1), (AutoSteps, "tau", 1),
])  # fmt: skip
def test_the_balance_of_steps_follows_the_lag(rule, name, sign):
    """A y that lags behind x gets larger steps, or x smaller ones; the other way round below 1."""
    found = []
    for lag in (1e-4, 1.0, 1e4):
        one = rule(method_for(rule))
        one.first()
        one.start(seen(1.0))
        gap = 1.0
        for _ in range(4):  # the same gaps, so that nothing but the lag differs
            gap *= 0.5
            proposal = one.after_epoch(seen(gap, lag))
        found.append(proposal.steps[name])
    assert sign * (found[2] - found[1]) > 0.0
    assert sign * (found[1] - found[0]) > 0.0


@pytest.mark.parametrize("proven", [False, True])
def test_gaps_that_jump_are_not_blamed_on_cautious_steps(proven, rng):
    """One small gap by luck, and larger ones for ever: neither product nor ratio runs away."""
    rule = CautiousSteps(Frozen(leeway=8.0, proven_product=proven))
    rule.after_epoch(seen(1e-6))
    for _ in range(500):
        proposal = rule.after_epoch(seen(10.0 ** rng.uniform(-5, -3.5), 10.0 ** rng.uniform(-3, 3)))
        assert proposal.back_to is None
        assert proposal.steps["eta"] * proposal.steps["tau"] == pytest.approx(1.0)
        assert 1.0 / 64.0 <= proposal.steps["eta"] / proposal.steps["tau"] <= 64.0


def test_cautious_steps_that_diverge_become_shorter_unless_a_theorem_covers_them():
    for gap in (1e3, math.inf):
        for proven in (False, True):
            rule = CautiousSteps(Frozen(leeway=8.0, proven_product=proven))
            rule.after_epoch(seen(1e-2, mark=7.0))
            proposal = rule.after_epoch(seen(gap, mark=9.0))
            blamed = gap == math.inf or not proven
            assert (proposal.back_to is not None) == blamed
            assert (math.prod(proposal.steps.values()) < 0.9) == blamed
            assert proposal.steps["eta"] == pytest.approx(proposal.steps["tau"])


def test_a_lag_that_underflows_moves_nothing():
    one = TileSteps(method_for(TileSteps))
    assert one.after_epoch(seen(1.0, lag=0.0)).steps == one.first().steps


def test_scaled_steps_keep_their_ratio():
    one, found = ScaledSteps(method_for(ScaledSteps)), []
    for gap in (1.0, 0.5, 0.1, 0.05, 5.0, 0.04):
        steps = one.after_epoch(seen(gap, lag=1e6)).steps
        assert steps["eta"] == steps["tau"]
        found.append(steps["eta"])
    assert len(set(found)) > 1  # they were looked for


def test_inner_steps_look_at_the_inner_gap_alone():
    """An outer gap that grows is momentum; an inner one that grows is a step too long."""
    before = InnerSteps(Frozen(inner=(1.0, 0.1), failed=False, lag=1.0)).first().steps
    fine = InnerSteps(Frozen(inner=(1.0, 0.1), failed=False, lag=1.0))
    failed = InnerSteps(Frozen(inner=(1.0, 9.0), failed=True, lag=1.0))
    assert fine.after_epoch(seen(1e9)).back_to is None
    assert failed.after_epoch(seen(1e-9)).steps["eta"] < before["eta"]
    assert failed.after_epoch(seen(1e-9)).back_to is None


def test_tied_rows_that_slow_down_are_let_go():
    rule = BalancedSteps(method_for(BalancedSteps, tied=True))
    rule.start(seen(1.0))
    assert rule.after_epoch(seen(0.3)).tied  # fast
    assert not rule.after_epoch(seen(0.2999)).tied  # stuck
    slow = BalancedSteps(method_for(BalancedSteps, tied=True))
    slow.start(seen(1.0))
    assert slow.after_epoch(seen(0.8)).tied  # once is no pattern
    proposal = slow.after_epoch(seen(0.64))
    assert not proposal.tied
    assert proposal.steps == {"eta": 0.5}  # those of a loose x


def test_steps_that_failed_on_cut_data_are_taken_with_more_care():
    """What exploded once is not tried again: steps of y are shorter from then on."""
    rule = BalancedSteps(Frozen(names=("eta",), stale=True, care=4.0))
    rule.start(seen(1.0))
    good = seen(0.1)
    assert rule.after_epoch(good).care is None
    proposal = rule.after_epoch(seen(2.0))
    assert proposal.back_to is good
    assert proposal.care > 4.0
    for k in range(20):
        proposal = rule.after_epoch(seen(0.09 * 0.9**k))
        assert proposal.back_to is None
        assert proposal.care is None  # as it is
    for k in range(20):  # nothing explodes, and nothing is gained
        proposal = rule.after_epoch(seen(0.05 + 1e-3 * (k % 2)))
        if proposal.back_to is not None:
            break
    else:
        pytest.fail("a run that stands still was never sent back")
    assert proposal.back_to.gap == pytest.approx(0.09 * 0.9**19)
    assert proposal.averaging  # sooner than where nothing is out of date


def test_tied_rows_of_cut_data_may_be_slow():
    rule = BalancedSteps(Frozen(True, ("eta",), stale=True))
    rule.start(seen(1.0))
    for k in range(1, 6):
        assert rule.after_epoch(seen(0.9**k)).tied
    assert not rule.after_epoch(seen(1.0)).tied  # worse than before


def test_in_doubt_copies_are_given_up_before_the_tie():
    rule = BalancedSteps(Frozen(True, ("eta",), side_by_side=True))
    rule.start(seen(1.0))
    first = rule.after_epoch(seen(0.9))
    assert first.tied
    assert not first.alone
    second = rule.after_epoch(seen(0.85))
    assert second.alone
    assert second.tied is None  # as it is


def test_a_fast_run_is_looked_at_less_often():
    rule, gap, ahead = BalancedSteps(method_for(BalancedSteps)), 1.0, []
    rule.start(seen(1.0))
    for _ in range(6):
        gap *= 0.5
        ahead.append(rule.after_epoch(seen(gap)).passes_ahead)
    assert ahead[0] == 1
    assert ahead[-1] > 1
    crawling = BalancedSteps(method_for(BalancedSteps))
    crawling.start(seen(1.0))
    said = [crawling.after_epoch(seen(0.99**k)).slow for k in range(1, 20)]
    assert said[0] is False
    assert said[-1] is True  # its fall-back may take over


def test_averages_start_anew_after_1_2_4_8_epochs():
    rule = FadingSteps(method_for(FadingSteps))
    restarts = [rule.after_epoch(seen(1.0 / k)).restart_average for k in range(1, 20)]
    assert [k for k, restart in enumerate(restarts, 1) if restart] == [1, 2, 4, 8, 16]


def test_a_lucky_average_does_not_shorten_fading_steps():
    """Far above the best gap, yet below where it began: no explosion, however often it happens."""
    rule = FadingSteps(method_for(FadingSteps))
    first = rule.first().steps
    rule.start(seen(1.0))
    for gap in (0.5, 1e-9, 0.5, 2.0, 1e-9, 0.5):
        proposal = rule.after_epoch(seen(gap))
        assert proposal.back_to is None
        assert proposal.steps == first
    assert rule.after_epoch(seen(2.0 * FAR_WORSE)).back_to.gap == 1e-9
    assert rule.after_epoch(seen(math.inf)).back_to.gap == 1e-9


def test_fixed_steps_fade_by_the_epoch_and_say_when_they_diverge():
    rule = FixedSteps(Frozen(), {"eta": 4.0, "tau": 8.0, "decay": 0.5}, "hand")
    assert rule.first().steps == {"eta": 4.0, "tau": 8.0}
    assert rule.after_epoch(seen(1.0)).steps == {"eta": 4.0 / 1.5, "tau": 8.0 / 1.5}
    proposal = rule.after_epoch(seen(10.0))
    assert proposal.steps == {"eta": 2.0, "tau": 4.0}
    assert not proposal.diverged
    assert rule.after_epoch(seen(2.0 * DIVERGED)).diverged
    assert rule.after_epoch(seen(math.nan)).diverged


def test_the_steps_argument_is_read():
    assert type(make_rule(Frozen(), "auto")) is AutoSteps
    theory = make_rule(Frozen(), "theory").first()
    assert (theory.steps, theory.source) == ({"eta": 2.0, "tau": 3.0}, "theory")
    by_hand = make_rule(Frozen(), {"eta": 1, "tau": 2.0, "decay": 0}).first()
    assert (by_hand.steps, by_hand.source) == ({"eta": 1.0, "tau": 2.0}, "hand")
    for wrong, message in (
        ("fast", "unknown steps 'fast'"),
        (3.0, "not float"),
        ({"eta": 1.0}, "missing: tau"),
        ({"eta": 1.0, "tau": 1.0, "beta": 1.0}, "unknown: beta"),
        ({"eta": 0.0, "tau": 1.0}, "eta must be a positive number"),
        ({"eta": "1", "tau": 1.0}, "eta must be a positive number"),
        ({"eta": math.inf, "tau": 1.0}, "eta must be a positive number"),
    ):
        with pytest.raises(ParameterError, match=message):
            make_rule(Frozen(), wrong)


def test_a_return_is_judged_by_what_came_after_it():
    """A smaller eta may raise the gap at once: that alone must not send the run back again."""
    rule = BalancedSteps(Frozen(names=("eta",), stale=True))
    rule.start(seen(1.0))
    rule.after_epoch(seen(1e-5))
    assert rule.after_epoch(seen(1e-3)).back_to is not None
    eta = None
    for gap in (1e-2, 5e-3, 2e-3, 1e-3):  # far above the best gap, and falling
        proposal = rule.after_epoch(seen(gap))
        assert proposal.back_to is None
        assert eta is None or proposal.steps["eta"] == pytest.approx(eta)
        eta = proposal.steps["eta"]
    worse = rule.after_epoch(seen(2e-2))  # more than ten times the least one since
    assert worse.back_to is not None
    assert worse.back_to.gap == 1e-5


def test_passes_are_averaged_where_the_gap_stands_still_and_not_before():
    rule = BalancedSteps(Frozen(names=("eta",)))
    rule.start(seen(1.0))
    assert not any(rule.after_epoch(seen(0.5**k)).averaging for k in range(1, 100))
    for _ in range(1000):
        proposal = rule.after_epoch(seen(0.5**99))
        if proposal.averaging:
            break
    assert proposal.averaging
    assert proposal.back_to.gap == 0.5**99  # from the best point on


@pytest.mark.parametrize("can_merge", [True, False])
def test_tiles_that_stand_still_are_put_together(can_merge):
    rule = Restarts(Frozen(names=("eta",), can_merge=can_merge), 1.0)
    proposal = rule.begin(seen(1e-3), slow=False)
    assert proposal.averaging
    assert proposal.merge is can_merge


@pytest.mark.parametrize(("stale", "can_merge"), [(False, False), (True, True), (True, False)])
def test_averages_of_data_in_one_piece_begin_with_the_first_eta(stale, can_merge):
    """What the lag has led to is kept only where sums of other tiles are in the way."""
    method = Frozen(names=("eta",), stale=stale, can_merge=can_merge)
    proposal = Restarts(method, 1e-8).begin(seen(1e-3), slow=False)
    kept = stale and not can_merge
    assert proposal.steps["eta"] == (1e-8 if kept else method.loose_eta())


def test_averages_begin_anew_where_the_gap_has_fallen():
    rule = Restarts(Frozen(names=("eta",), level=4.0), 1.0)
    best = seen(1e-3)
    assert not rule.after_epoch(seen(1.0), best).restart_average  # the first look of a stretch
    assert not rule.after_epoch(seen(0.5), best).restart_average
    fallen = rule.after_epoch(seen(0.2), best)
    assert fallen.restart_average
    assert fallen.steps["eta"] == pytest.approx(2.0)  # x has gone further than y: half the way
    assert not rule.after_epoch(seen(0.19), best).restart_average


@pytest.mark.parametrize("level", [math.nan, 0.0, math.inf, 1e-30, 1e30])
def test_ways_that_say_nothing_leave_eta_alone(level):
    """One of x and y has not moved, or rounding is all that has."""
    rule = Restarts(Frozen(names=("eta",), level=level), 3.0)
    rule.after_epoch(seen(1.0), seen(1.0))
    assert rule.after_epoch(seen(0.1), seen(0.1)).steps["eta"] == 3.0


def test_the_lag_does_not_move_eta_while_passes_are_averaged():
    for lag in (1e-6, 1e6):
        rule = Restarts(Frozen(names=("eta",)), 1.0)
        rule.after_epoch(seen(1.0, lag), seen(1.0))
        assert rule.after_epoch(seen(0.1, lag), seen(0.1)).steps["eta"] == 1.0


@pytest.mark.parametrize("stale", [True, False])
def test_averages_that_explode_go_back_and_take_more_care(stale):
    """Where all is up to date a larger gap is part of a turn, and only no number is a failure."""
    for gap in (FAR_WORSE * 1.1, math.inf, math.nan):
        rule = Restarts(Frozen(names=("eta",), care=3.0, stale=stale), 1.0)
        rule.after_epoch(seen(1.0), seen(0.5))
        proposal = rule.after_epoch(seen(gap), seen(0.5))
        if not stale and math.isfinite(gap):
            assert proposal.back_to is None
            assert proposal.care is None
            continue
        assert proposal.back_to.gap == 0.5
        assert proposal.care > 3.0


@pytest.mark.parametrize("can_merge", [True, False])
def test_averages_that_come_to_rest_elsewhere(can_merge):
    """Tiles are put together where they can be; else steps of y become shorter."""
    rule = Restarts(None, 1.0)
    for k in range(1, 20):  # stretches become longer and longer
        rule.method = Frozen(
            names=("eta",), can_merge=can_merge, care=2.0, averaged=10**k, stale=True
        )
        proposal = rule.after_epoch(seen(0.1), seen(0.1))
        if proposal.merge or proposal.care:
            break
    assert proposal.merge is can_merge
    assert (proposal.care is None) is can_merge


def test_averages_in_one_piece_take_no_care_however_long_they_rest():
    rule = Restarts(None, 1.0)
    for k in range(1, 20):
        rule.method = Frozen(names=("eta",), averaged=10**k)
        assert rule.after_epoch(seen(0.1), seen(0.1)).care is None
