"""The methods of the family take the steps of their papers, given the same draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spd1 import ElasticNet
from spd1.control.steps import Proposal
from spd1.kernel.rng import indices, units
from spd1.solvers import FAMILY_METHODS, method_class
from spd1.solvers.family.katyusha import Couplings, coast
from support import oracle
from support import reference_family as paper
from support.setups import EPOCHS, KEY, Setup, assert_close, assert_moved, run

STEPS = {"eta": 0.2, "tau": 0.3}
# Every kernel of a case takes seconds to compile: quick tests have one loss and one layout.
CASES = [
    ("csr", "f8", "uniform", "logistic", "elastic", True),
    pytest.param(("dense_c", "f8", "uniform", "logistic", "l2", False), marks=pytest.mark.slow),
    pytest.param(("dense_f", "f8", "uniform", "squared_hinge", "elastic", True),
                 marks=pytest.mark.slow),
    pytest.param(("csc", "f8", "uniform", "squared", "elastic_box", False), marks=pytest.mark.slow),
    pytest.param(("csr", "f4", "uniform", "squared", "elastic", True), marks=pytest.mark.slow),
]  # fmt: skip
plain = pytest.mark.parametrize("case", CASES, ids=str)


def worker_of(setup, name, source="hand"):
    """The method at its start, with steps as set by hand."""
    worker = method_class(name)(setup.problem, "auto", KEY)
    worker.adopt(Proposal({key: STEPS[key] for key in worker.step_names}, source))
    worker.begin(setup.x, setup.y)
    return worker


def end_of(worker):
    """Where it stands."""
    [(x, y)] = worker.iterates()
    return x, y


def rows_drawn(setup, epochs=EPOCHS):
    return indices(KEY, 0, epochs * setup.problem.n, setup.problem.n)


@plain
def test_spd1_vr_acc(case):
    setup = Setup(*case[:2], "nonzeros" if case[0][0] == "c" else "uniform", *case[3:])
    worker, x, y = worker_of(setup, "spd1-vr-acc"), setup.x, setup.y
    T = setup.steps_an_epoch()
    run(worker)
    for epoch in range(EPOCHS):
        draws = [setup.pair(2 * t) for t in range(epoch * T, (epoch + 1) * T)]
        x, y = paper.spd1_vr_acc(
            setup.task, x, y, draws, *STEPS.values(), worker.momentum, setup.r, setup.k
        )
    assert_close(worker.state.x, x)
    assert_close(worker.state.y, y)
    assert_moved(x, setup.x)
    assert worker.momentum > 0


@plain
@pytest.mark.parametrize("source", ["hand", "theory"])
def test_chambolle_pock(case, source):
    setup = Setup(*case)
    worker = run(worker_of(setup, "chambolle-pock", source), 1)
    variant = {"hand": "plain", "theory": "both"}[source]
    norm = worker.coupling() if source == "theory" else 1.0
    x, y = paper.chambolle_pock(
        setup.task, setup.x, setup.y, worker.t, *STEPS.values(), variant, norm
    )
    assert_close(worker.state.now.x, x)
    assert_close(worker.state.now.y, y)
    assert_moved(x, setup.x)
    assert worker.t > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "reg", "variant"),
    [("hinge", "l2", "primal"), ("logistic", "l1", "dual"), ("hinge", "l1", "plain")],
)
def test_chambolle_pock_knows_which_side_is_strongly_convex(loss, reg, variant):
    setup = Setup("csr", "f8", "uniform", loss, reg, True)
    worker = run(worker_of(setup, "chambolle-pock", "theory"), 1)
    assert worker.variant == variant
    x, y = paper.chambolle_pock(setup.task, setup.x, setup.y, worker.t, *STEPS.values(), variant)
    assert_close(worker.state.now.x, x)
    assert_close(worker.state.now.y, y)


@plain
def test_extragradient(case):
    setup = Setup(*case)
    worker = run(worker_of(setup, "extragradient"), 1)
    found = paper.extragradient(setup.task, setup.x, setup.y, worker.t, *STEPS.values())
    state = worker.state
    for mine, theirs in zip(
        (state.now.x, state.now.y, state.mean.x, state.mean.y), found, strict=True
    ):
        assert_close(mine, theirs)
    assert_close(state.mean.u, setup.task.A @ found[2])  # by linearity, without a product
    assert_close(state.mean.w, paper.pull(setup.task, found[3]))
    assert_moved(found[0], setup.x)


@plain
def test_pdlp_until_its_first_restart(case):
    setup = Setup(*case)
    worker = worker_of(setup, "pdlp")
    weight, worker.step = worker.weight, 8.0  # too long: steps are tried again
    worker.consider_restart = lambda: None
    run(worker, 1)
    stored = setup.task.A != 0 if case[0].startswith("cs") else setup.drawn
    x, y, step = paper.pdlp_steps(setup.task, setup.x, setup.y, worker.t, 8.0, weight, stored)
    assert_close(worker.state.now.x, x)
    assert_close(worker.state.now.y, y)
    assert worker.step == pytest.approx(step, rel=1e-8)
    assert_moved(x, setup.x)


@plain
def test_sdca(case):
    setup = Setup(*case)
    worker = run(worker_of(setup, "sdca"))
    near = setup.problem.loss.prox_near
    x, y = paper.sdca(setup.task, setup.y, rows_drawn(setup), near)
    found_x, found_y = end_of(worker)
    assert_close(found_x, x)
    assert_close(found_y, y)
    assert_moved(y, setup.y)


@plain
@pytest.mark.parametrize("source", ["theory", "auto"])
def test_asdca(case, source):
    """The sweeps, where the centre goes, and how accurate an inner problem has to be before."""
    setup = Setup(*case)
    worker = worker_of(setup, "asdca", source)
    near, y, n = setup.problem.loss.prox_near, setup.y, setup.problem.n
    worker.kappa = 1.7  # so small a problem needs none
    worker.set_kappa()
    worker.centre = worker.centre + 0.1
    mu, moves = setup.problem.mu, 0
    for epoch in range(EPOCHS):
        centre, before, kappa = worker.centre.copy(), worker.before.copy(), worker.kappa
        wanted, sweeps = worker.xi, worker.sweeps + 1
        run(worker, 1)
        rows = rows_drawn(setup)[epoch * n : (epoch + 1) * n]
        x, y = paper.sdca(setup.task, y, rows, near, kappa, centre)
        found_x, found_y = end_of(worker)
        assert_close(found_x, x)
        assert_close(found_y, y)
        loss, task = setup.problem.loss, setup.task
        terms = oracle.phi(loss, task.A @ x, task.b) + oracle.phi_star(loss, y, task.b)
        gap = paper.inner_gap(task, terms, x, y, kappa, centre)
        eta, root = worker.eta, np.sqrt(mu / (mu + kappa))
        figure_1 = eta / (2 * (1 + eta**-2)) * wanted
        catalyst = root / (2 - root) * kappa / 2 * np.sum((x - centre) ** 2)
        if gap > (figure_1 if source == "theory" else catalyst):
            np.testing.assert_array_equal(worker.centre, centre)
            continue
        moves += 1
        if source == "auto" and sweeps == 1:  # easier than it need be: a weaker term, no momentum
            assert worker.kappa == (kappa / 4 if kappa / 4 > mu else 0.0)
            assert_close(worker.centre, x)
        else:
            beta = (1 - eta) / (1 + eta) if source == "theory" else (1 - root) / (1 + root)
            assert worker.kappa == kappa
            assert_close(worker.centre, x + beta * (x - before))
    assert moves > 0 or source == "theory"


@plain
@pytest.mark.parametrize("name", ["spdc", "spdhg", "rpd"])
def test_rows_of_a_saddle_point(name, case):
    setup = Setup(*case)
    worker = run(worker_of(setup, name))
    n, task = setup.problem.n, setup.task
    reach = n * task.c * np.sum(task.A**2, axis=1)
    sigmas = np.where(reach > 0, STEPS["tau"], 0.0)
    if name != "spdc":
        sigmas = np.where(reach > 0, STEPS["tau"] * reach.max() / np.where(reach > 0, reach, 1), 0)
    mu, gamma, sigma = task.l2.min(), setup.problem.gamma, sigmas[sigmas > 0].min()
    theta = max(1 - 1 / (n + n / (2 * sigma * gamma)), 1 / (1 + 2 * STEPS["eta"] * mu))
    theta, ahead = {
        "spdc": (theta, 1.0), "spdhg": (0.0, 1 + 1 / n), "rpd": (n * (1 + theta) / 2, 1 / n)
    }[name]  # fmt: skip
    rows = rows_drawn(setup)
    x, y = paper.row_saddle(task, setup.x, setup.y, rows, STEPS["eta"], sigmas, theta, ahead)
    found_x, found_y = end_of(worker)
    assert_close(found_x, x)
    assert_close(found_y, y)
    assert_moved(x, setup.x)


@plain
@pytest.mark.parametrize("name", ["svrg-saddle", "saga-saddle", "svrg-saddle-acc"])
def test_a_row_and_a_column_of_a_saddle_point(name, case):
    setup = Setup(*case)
    worker = worker_of(setup, name)
    task, x, y = setup.task, setup.x, setup.y
    rows, columns = task.c * np.sum(task.A**2, axis=1), task.c @ task.A**2
    mix = 0.5 if name == "saga-saddle" else 0.0
    pi = mix / len(rows) + (1 - mix) * rows / rows.sum()
    rho = mix / len(columns) + (1 - mix) * columns / columns.sum()
    assert_close(worker.pi, pi)
    assert_close(worker.rho, rho)
    run(worker)
    T = worker.t // EPOCHS
    numbers = units(KEY, 0, 3 * worker.t).reshape(-1, 3)
    draws = [
        (int(np.searchsorted(np.cumsum(pi), i)), int(np.searchsorted(np.cumsum(rho), j)), coin)
        for i, j, coin in numbers
    ]
    steps = (*STEPS.values(), pi, rho)
    if name == "svrg-saddle":
        for epoch in range(EPOCHS):
            x, y = paper.svrg_saddle(task, x, y, draws[epoch * T : (epoch + 1) * T], *steps)
    elif name == "saga-saddle":
        x, y = paper.saga_saddle(task, x, y, draws, *steps)
    else:
        x, y = paper.vr_extragradient(task, x, y, draws, *steps, 1.0 / worker.a_pass)
        assert any(coin < 1.0 / worker.a_pass for *_, coin in draws)  # a snapshot was taken
    found_x, found_y = end_of(worker)
    assert_close(found_x, x)
    assert_close(found_y, y)
    assert_moved(x, setup.x)


@plain
def test_katyusha(case):
    setup = Setup(*case)
    worker = run(worker_of(setup, "katyusha"))
    n = setup.problem.n
    rows, snap, y, z = indices(KEY, 0, 2 * EPOCHS * n, n), setup.x, setup.x, setup.x
    for epoch in range(EPOCHS):
        part = rows[2 * n * epoch : 2 * n * (epoch + 1)]
        snap, y, z = paper.katyusha(setup.task, snap, y, z, part, STEPS["eta"])
    assert_close(worker.state.snap, snap)
    assert_close(worker.state.y, y)
    assert_close(worker.state.z, z)
    assert_moved(snap, setup.x)


@pytest.mark.slow
def test_katyusha_coasts_over_thousands_of_steps(rng):
    """Powers of the affine map against as many single steps, through zero and out of it."""
    for _ in range(200):
        l1, l2 = float(rng.choice([0.0, 0.01, 0.3])), float(10 ** rng.uniform(-5, 0))
        net, alpha = ElasticNet(l1=l1, l2=l2).bind(1), float(10 ** rng.uniform(-3, 2))
        tau, times = float(rng.choice([0.01, 0.3, 0.5])), int(rng.integers(5, 3000))
        k = Couplings(alpha, tau, 0.5 - tau, 0.5, 1.0 / (1.0 + alpha * l2))
        z, y, total, gradient, snap = rng.standard_normal(5) * 10 ** rng.uniform(-2, 1)
        found = coast(net, z, y, total, gradient, snap, k, times, 0)
        for _ in range(times):
            z = net.prox(z - alpha * gradient, alpha, 0)
            y = tau * z + 0.5 * snap + (0.5 - tau) * y
            total = k.fade * total + y
        np.testing.assert_allclose(found, (z, y, total), rtol=1e-10, atol=1e-10)


@plain
def test_dspdc(case):
    setup = Setup(*case)
    worker = run(worker_of(setup, "dspdc"))
    p = setup.problem
    draws = [
        (int(indices(KEY, 2 * t, 1, p.n)[0]), int(indices(KEY, 2 * t + 1, 1, p.d)[0]))
        for t in range(worker.t)
    ]
    eta, tau = STEPS.values()
    for_y = 1 - 1 / (p.n + p.n / (2 * tau * p.gamma))
    for_x = 1 - 1 / (p.d + p.d / (2 * eta * p.mu))
    beyond = p.d * max(for_x, for_y)
    x, y = paper.dspdc(setup.task, setup.x, setup.y, draws, eta, tau, beyond)
    found_x, found_y = end_of(worker)
    assert_close(found_x, x)
    assert_close(found_y, y)
    assert_close(worker.state.u, setup.task.A @ x)
    assert_close(worker.state.G, paper.pull(setup.task, y))
    assert_moved(x, setup.x)


@plain
def test_s2cd(case):
    setup = Setup(*case[:4], "l2", case[5])
    worker = worker_of(setup, "s2cd")
    worker.steps = {"eta": 0.1 / worker.total}
    P, x = paper.s2cd_chances(setup.task, setup.problem.gamma), setup.x
    run(worker)
    which = np.searchsorted(np.cumsum(P.ravel()), units(KEY, 0, worker.t))
    draws = [divmod(int(at), P.shape[1]) for at in which]
    T = worker.t // EPOCHS
    for epoch in range(EPOCHS):
        part = draws[epoch * T : (epoch + 1) * T]
        x = paper.s2cd(setup.task, x, part, worker.steps["eta"], P)
    assert_close(worker.state.x, x)
    assert_moved(x, setup.x)


def test_every_method_of_the_family_is_compared_with_its_paper():
    here = Path(__file__).read_text(encoding="utf-8")
    own = {"spd1-vr-catalyst"}  # test_catalyst.py: SPD1-VR on another problem
    assert all(f'"{name}"' in here for name in set(FAMILY_METHODS) - own)
