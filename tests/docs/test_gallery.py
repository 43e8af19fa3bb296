"""Every script of the gallery runs and draws; heavy ones with the slow tests."""

import ast
import re
import runpy

import matplotlib
import pytest

from support.pages import EXAMPLES

SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
HEAVY = {
    "plot_certify_early_stop",
    "plot_family",
    "plot_one_standard_error",
    "plot_text_certified_time",
    "plot_threads",
}


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Figures that a script has shown."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    monkeypatch.chdir(tmp_path)
    yield shown
    plt.close("all")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(s, marks=[pytest.mark.slow] if s.stem in HEAVY else [], id=s.stem)
        for s in SCRIPTS
    ],
)
def test_script_runs_and_draws(script, drawn):
    runpy.run_path(str(script), run_name="__main__")
    assert drawn, f"{script.name} shows no picture"


def test_there_are_twelve_and_more():
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_script_explains_itself_and_needs_no_download(script):
    text = script.read_text(encoding="utf-8")
    title, line, _, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert len(" ".join(rest).split()) >= 30, "what it shows, in two sentences at least"
    assert len(re.findall(r"^# %%", text, flags=re.MULTILINE)) >= 2
    assert not re.search(r"fetch_|urlopen|requests|datasets\.load\(", text)
