"""spd1 warm-up: what it compiles, what it says, and Ctrl-C."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest
from rich.console import Console
from test_cli_signals import start, wait_for
from typer.testing import CliRunner

from spd1 import linear_model
from spd1.cli import warm_up
from spd1.cli.app import app
from spd1.cli.show import GapBar
from spd1.kernel.announce import TALLY


def few(monkeypatch, losses):
    """Leave all but one shape and layout out."""
    monkeypatch.setattr(warm_up, "USUAL", {loss: warm_up.USUAL[loss] for loss in losses})
    monkeypatch.setattr(warm_up, "CROSS_VALIDATED", {})
    monkeypatch.setattr(warm_up, "SHAPES", warm_up.SHAPES[:1])
    monkeypatch.setattr(warm_up, "LARGE", warm_up.SHAPES[0])
    monkeypatch.setattr(warm_up, "LAYOUTS_OF_DATA", {"dense": warm_up.LAYOUTS_OF_DATA["dense"]})


def test_every_combination_is_fitted_and_none_is_refused(monkeypatch):
    few(monkeypatch, warm_up.USUAL)
    monkeypatch.setattr(warm_up, "suppress", lambda *kinds: nullcontext())
    done = 0
    for _, fit in warm_up.tasks(warm_up.USUAL | warm_up.MORE):
        fit()
        done += 1
    assert done > 20


def test_the_list_names_the_estimators_there_are():
    named = {name for some in (warm_up.USUAL | warm_up.MORE).values() for name, _ in some}
    named |= {name for names in warm_up.CROSS_VALIDATED.values() for name in names}
    assert named <= set(linear_model.__all__)
    losses_of_others = {"ERMClassifier", "RidgeClassifier", "RidgeCV", "RidgeClassifierCV"}
    functions = {"Path", "path", "enet_path", "lasso_path"}
    left_out = losses_of_others | functions | {"ERMClassifierCV", "ERMRegressorCV"}
    assert set(linear_model.__all__) - named == left_out


# A process of its own: kernels are counted when a process first calls them.
UNKNOWN = """
import warnings, sys
import numpy as np, scipy.sparse as sp
from spd1 import linear_model
from spd1.cli import warm_up
from spd1.kernel import cache

warnings.simplefilter("ignore")
seen = []
announce = cache.TALLY.load, cache.TALLY.begin

for _, fit in warm_up.tasks(warm_up.USUAL | warm_up.MORE):
    fit()


def load():
    seen.append(sys._getframe(1).f_locals["self"].function.__name__)
    announce[0]()


def begin(name, *rest):
    seen.append(name)
    announce[1](name, *rest)


cache.TALLY.load, cache.TALLY.begin = load, begin

rng = np.random.default_rng(1)
for n, d in ((300, 8), (60, 60), (90, 400), (3000, 30), (700, 700)):
    A = rng.standard_normal((n, d))
    margin = A[:, :8] @ rng.standard_normal(8) + rng.standard_normal(n)
    sparse = sp.random(n, d, 0.2, "csr", random_state=0)
    for data in (A, sparse, sparse.tocsc()):
        for loss, some in (warm_up.USUAL | warm_up.MORE).items():
            for name, options in some:
                model = getattr(linear_model, name)(**options)
                if hasattr(model, "max_iter"):
                    model.set_params(max_iter=30)
                before = len(seen)
                model.fit(data, warm_up.targets(loss, margin))
                for kernel in seen[before:]:
                    print("UNKNOWN", name, options, type(data).__name__, n, d, kernel, flush=True)
print("DONE", flush=True)
"""


@pytest.mark.slow
def test_fits_after_it_meet_no_new_kernel():
    """Estimators of the list, at their defaults, on other shapes than those of the list."""
    run = subprocess.run([sys.executable, "-c", UNKNOWN], capture_output=True, text=True)
    assert "DONE" in run.stdout, run.stderr
    assert "UNKNOWN" not in run.stdout, run.stdout


def test_it_says_how_many_kernels_there_were(monkeypatch):
    few(monkeypatch, ["squared"])
    before = TALLY.found + TALLY.compiled
    done = CliRunner().invoke(app, ["warm-up"])
    assert done.exit_code == 0
    pattern = r"(\d+) kernels: (\d+) were on disk, (\d+) compiled in [\d.]+ s; [\d.]+ s in all"
    total, found, compiled = map(int, re.search(pattern, done.stdout).groups())
    assert total == found + compiled == TALLY.found + TALLY.compiled >= before


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_it_and_keeps_what_is_compiled(tmp_path):
    process = start(["-m", "spd1", "warm-up"], tmp_path, True)
    seen = wait_for(process, "compiling kernel 3")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, seen + err
    assert "Traceback" not in seen + err
    assert "interrupted; what was compiled stays" in out
    count = int(re.search(r"(\d+) compiled", out).group(1))
    assert count >= 2
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == count


def test_the_bar_of_a_fit_says_when_kernels_are_compiled():
    bar = GapBar(1e-6, shown=False)
    bar.live = True  # as on a terminal
    with bar:
        TALLY.begin("sums on dense data", "", True)
        [task] = bar.bar.tasks
        assert (task.description, task.fields["state"]) == ("compiling", "sums on dense data")
        TALLY.end()
        assert task.description == "solving"
    assert TALLY.watchers == []


def test_the_bar_counts_kernels_as_they_are_compiled(monkeypatch):
    screen = io.StringIO()
    terminal = Console(force_terminal=True, file=screen, width=120)
    monkeypatch.setattr(warm_up, "Console", lambda **_: terminal)
    bar = warm_up.KernelBar(2)
    with bar:
        bar.next("squared, dense")
        [task] = bar.bar.tasks
        before = task.fields["kernels"]
        TALLY.begin("sums on dense data", "", True)
        assert task.fields["state"] == "compiling sums on dense data"
        TALLY.end()
        assert (task.fields["kernels"], task.fields["state"]) == (before + 1, "")
        assert (task.completed, task.total) == (1, 2)
    assert f"{before + 1} kernels" in screen.getvalue()
    assert TALLY.watchers == []
