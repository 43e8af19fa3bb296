"""The whole reproduction, small: files, the page, the command line."""

from __future__ import annotations

import csv
import json
import platform
import re
import socket
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from spd1.cli.app import app
from spd1.datasets import COLLECTION
from spd1.errors import DataError, ParameterError
from spd1.reproduce import FULL, LONG, QUICK, TARGETS, everything, reproduce
from spd1.reproduce.problems import Source, choose_sources, panels_of, uniform_part
from spd1.reproduce.readings import TEXTBOOK
from spd1.reproduce.settings import NAMES

SMALL = QUICK._replace(name="small", horizons={"d100": 4}, seconds=0.05, draws=2)
ALL_PANELS = ("d100", "d1000", "colon", "gisette", "rcv1", "rcv1-uniform")
WIDE = SMALL._replace(
    horizons=dict.fromkeys(ALL_PANELS, 2), name="wide", draws=1, uniform_entries=40_000,
    targets=TARGETS,
)  # fmt: skip


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No data anywhere but in this test's folder."""
    monkeypatch.setenv("SPD1_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPD1_DATA", raising=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    said = []
    outcome = reproduce(["figure1", "figure5"], out=out, settings=SMALL, jobs=1, report=said.append)
    outcome.said = said
    return out, outcome


def test_pictures_curves_and_page(done):
    out, outcome = done
    for name in ("figure1", "figure1-leads", "figure1-axes", "figure5"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / f"{name}.svg").read_bytes()
    with (out / "curves" / "figure1-d100.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    [panel] = outcome.curves["figure1"]
    assert {(r["method"], r["draw"], r["seed"]) for r in rows} == {
        (m, draw, s) for m in panel.methods for draw in ("1", "2") for s in ("1", "2", "3")
    }
    assert set(panel.methods) == {*NAMES, *TEXTBOOK}
    assert panel.optima[0].value != panel.optima[1].value
    for row in rows:
        difference = float(row["primal"]) - panel.optima[int(row["draw"]) - 1].value
        assert float(row["suboptimality"]) == pytest.approx(difference, abs=1e-15)
    both = [("V1", "textbook rivals"), ("V1", "best-tuned rivals")]
    assert [(v.key, v.reading) for v in outcome.verdicts] == both
    assert (
        json.loads((out / "verdicts.json").read_text())[0]["verdict"] == outcome.verdicts[0].verdict
    )
    assert outcome.verdicts[0].text in (out / "verdicts.md").read_text()


def test_it_says_what_it_does_while_it_does_it(done):
    """Data, method, try or seed; the seconds so far grow, what is left ends near nothing."""
    said = done[1].said
    labels = [progress.label for progress in said]
    data = "synthetic, n = 1000, d = 100, logistic"
    assert labels[:2] == ["reading data", "plan: d100 logistic 4 passes"]
    assert f"{data}: SPD1-VR, try 6 of 6" in labels
    assert f"{data}: svrg 0.1/L, seed 3, draw 2" in labels
    assert "figure1: drawing 1 of 1 panels" in labels
    assert all(a.seconds <= b.seconds for a, b in pairwise(said))
    assert said[labels.index("figure1: drawing 1 of 1 panels")].left < 1e-6 < said[1].left


def test_titles_say_what_is_shown(done):
    [panel] = done[1].curves["figure1"]
    assert panel.panel.title == "synthetic, n = 1000, d = 100\nlogistic, lambda = 0.001"


def test_the_page_is_self_contained_and_tells_nothing_about_its_owner(done):
    out, outcome = done
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") == 4
    assert set(re.findall(r'src="([^"]{0,22})', page)) == {"data:image/png;base64,"}
    assert not re.findall(r'(?:href|src)="(?!data:)', page)
    assert "<script" not in page
    text = re.sub(r"base64,[^\"]*", "", page)
    for name in {socket.gethostname(), platform.node()} - {""}:
        assert not re.search(rf"\b{re.escape(name)}\b", text)
    for place in (str(out), "/home/", "/tmp/", "/usr/"):
        assert place not in text
    assert outcome.verdicts[0].verdict in page
    assert np.__version__ in page
    assert QUICK.note in page.replace("&#x27;", "'")  # what was left out
    assert "mean over the second half of the passes" in " ".join(page.split())  # the rule


def test_theorems_hold_but_the_second_one_with_its_stated_steps(done):
    one, two, mended, three = done[1].rates
    assert one.holds
    assert mended.holds
    assert three.holds
    assert not two.holds
    assert "T^-0.9" in mended.summary or "T^-1.0" in mended.summary
    for rate in (one, two, mended):  # sup E is at most E[sup]
        assert np.all(rate.proven < rate.measured)


def test_a_second_call_runs_nothing_again(done, monkeypatch):
    from spd1.reproduce import pool

    def fail(*_):
        raise AssertionError("ran again")

    monkeypatch.setattr(pool, "run_task", fail)
    monkeypatch.setattr(everything, "write_figure", lambda *_: None)  # they are there
    out, outcome = done
    again = reproduce(["figure1"], out=out, settings=SMALL, jobs=1)
    assert again.verdicts == outcome.verdicts
    assert again.curves["figure1"][0].panel == outcome.curves["figure1"][0].panel
    assert again.seconds > outcome.seconds  # the time of both calls


@pytest.mark.slow
def test_everything_without_any_data(tmp_path):
    outcome = reproduce(out=tmp_path, settings=WIDE, jobs=1)
    keys = {v.key.partition(",")[0] for v in outcome.verdicts}
    assert keys == {f"V{k}" for k in range(1, 11)} - {"V3"}
    assert len(outcome.missing) == 3
    names = {row["ran"] for row in outcome.table1}
    assert names == {"gaussian 62 x 2000", "digits-products", "random-words"}
    for name in ("figure1", "figure2", "figure3", "figure4", "figure5"):
        assert (tmp_path / f"{name}.png").exists()
        assert (tmp_path / f"{name}.svg").exists()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for line in outcome.missing:
        assert line.split(": LIBSVM")[0] in page
    assert "Table 2" in page


def test_stand_ins_run_under_their_own_names_and_originals_first(tmp_path, monkeypatch):
    rows = "".join(f"{1 if k % 2 else -1} 1:{k + 1} 2:{(k * 7) % 5 + 1}\n" for k in range(6))
    for name in ("gisette", "gisette-like", "rcv1-subset", "rcv1.binary", "20news-compsci"):
        monkeypatch.setitem(COLLECTION, name, COLLECTION[name]._replace(rows=6, features=2))
    (tmp_path / "gisette-like.svm").write_text(rows)
    (tmp_path / "rcv1-subset.svm").write_text(rows)
    sources, missing = choose_sources(["gisette", "rcv1"], SMALL, tmp_path, False)
    assert [s.name for s in sources] == ["gisette-like", "rcv1-subset"]
    assert not any(s.original for s in sources)
    assert len(missing) == 2
    assert sources[0].A.min() == -1.0
    assert sources[0].A.max() == 1.0
    (tmp_path / "gisette_scale").write_text(rows)
    (tmp_path / "rcv1_train.binary").write_text(rows)
    sources, missing = choose_sources(["gisette", "rcv1"], SMALL, tmp_path, False)
    assert [s.name for s in sources] == ["gisette", "rcv1.binary"]
    assert all(s.original for s in sources)
    assert missing == []


@pytest.mark.slow
def test_uniform_sampling_as_published_gets_its_own_panel_and_verdict(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    lines = [
        " ".join(
            [str(1 - 2 * (k % 2)), *(f"{j}:{rng.random():.3f}" for j in (k % 7 + 1, 9 + k % 11))]
        )
        for k in range(40)
    ]
    (tmp_path / "rcv1-subset.svm").write_text("\n".join(lines))
    monkeypatch.setitem(
        COLLECTION, "rcv1-subset", COLLECTION["rcv1-subset"]._replace(rows=40, features=30)
    )
    keys = ("rcv1", "rcv1-uniform")
    settings = SMALL._replace(
        horizons=dict.fromkeys(keys, 4), name="uniform", tries=12, dense_part=False
    )
    outcome = reproduce(["figure2"], out=tmp_path / "o", folder=tmp_path, settings=settings, jobs=1)
    assert [c.panel.sampling for c in outcome.curves["figure2"]] == ["uniform", "nonzeros"]
    keys = ["V6", "V6", "V6, non-zero draws (ours)", "V6, non-zero draws (ours)"]
    assert [v.key for v in outcome.verdicts] == keys
    uniform = outcome.curves["figure2"][0].methods["spd1"].runs[0].curve
    np.testing.assert_allclose(uniform.paper_passes, np.arange(5.0))
    assert "uniform draws, as published" in outcome.curves["figure2"][0].panel.title


def test_uniform_draws_get_a_part_in_the_shape_of_the_whole():
    whole = sp.random_array((200, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
    source = Source("rcv1", "words", False, whole, np.ones(200))
    part = uniform_part(source, SMALL._replace(uniform_entries=4000, dense_part=False))
    n, d = part.A.shape
    assert n * d <= 1.05 * 4000
    assert d / n == pytest.approx(2.5, rel=0.05)
    norms = np.sqrt(part.A.power(2).sum(axis=1))
    np.testing.assert_allclose(norms[norms > 0], 1.0)
    assert part.name == "part of words"
    dense = uniform_part(source, SMALL._replace(uniform_entries=4000, dense_part=True))
    np.testing.assert_array_equal(dense.A, part.A.toarray())
    for stored in (part, dense):
        [panel] = panels_of([stored], "logistic", WIDE)
        assert (panel.sampling, panel.entries) == ("uniform", n * d)
        assert "uniform draws, as published" in panel.title
    kept = uniform_part(source, SMALL._replace(uniform_entries=10**6, dense_part=False))
    assert kept.A.shape == whole.shape


def test_a_file_under_another_name_is_no_original(tmp_path, monkeypatch):
    """The colon-cancer file that LIBSVM has is told from a reconstruction by its name."""
    rows = "".join(f"{1 if k % 2 else -1} 1:{k + 1} 2:{(k * 7) % 5 + 1}\n" for k in range(6))
    small = COLLECTION["colon-cancer"]._replace(rows=6, features=2)
    monkeypatch.setitem(COLLECTION, "colon-cancer", small)
    for name, original in (("colon-cancer.svm", False), ("colon-cancer", True)):
        place = tmp_path / f"with-{name}"
        place.mkdir()
        (place / name).write_text(rows)
        [source], missing = choose_sources(["colon"], SMALL, place, False)
        assert (source.original, len(missing)) == (original, 0 if original else 1)
        assert source.title == f"colon-cancer{'' if original else ' (reconstruction)'}, 6 x 2"


def test_made_up_data_has_the_shapes_it_stands_for():
    sources, missing = choose_sources(["colon", "gisette", "rcv1"], SMALL, None, False)
    colon, gisette, rcv1 = sources
    assert colon.A.shape == (62, 2000)
    assert 600 >= gisette.A.shape[0] > gisette.A.shape[1]
    assert "one row and column in 3 (stand-in)" in gisette.title
    assert rcv1.A.nnz < 0.02 * np.prod(rcv1.A.shape)
    np.testing.assert_allclose(rcv1.A.power(2).sum(axis=1), 1.0)
    assert all(set(np.unique(s.b)) == {-1.0, 1.0} for s in sources)
    assert len(missing) == 3


def test_a_quick_run_leaves_out_what_is_ours():
    """Figures 4 and 6 and draws of non-zeros; they may still be asked for by name."""
    assert set(TARGETS) - set(QUICK.targets) == {"figure4", "figure6"}
    assert FULL.targets == LONG.targets == TARGETS
    panels = everything.needed_panels(QUICK.targets, QUICK)
    assert "rcv1-uniform" in panels
    assert "rcv1" not in panels
    assert "d100" in everything.needed_panels(["figure4"], QUICK)


def test_refusals(tmp_path):
    with pytest.raises(ParameterError, match="unknown target 'figure9'"):
        reproduce(["figure9"], out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="can't be written"):
        reproduce(["figure5"], out=tmp_path / "file")


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *(str(a) for a in arguments)])


def test_ctrl_c_says_that_finished_runs_are_kept(tmp_path, monkeypatch):
    from spd1.reproduce import pool

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(everything, "QUICK", SMALL)
    monkeypatch.setattr(pool, "run_task", interrupt)
    result = run("figure1", "--quick", "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 130
    assert "finished runs are kept in" in " ".join(result.stderr.split())


def test_command_line(done, monkeypatch):
    out, outcome = done
    monkeypatch.setattr(everything, "QUICK", SMALL)
    result = run("figure1", "--quick", "--out", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert f"V1  {outcome.verdicts[0].text}"[:20].split()[0] in result.stdout
    assert outcome.verdicts[0].verdict in result.stdout
    assert "report.html" in result.stdout
    assert "to go] reading data" in result.stderr  # no terminal: lines
    assert "figure1: drawing 1 of 1 panels" in result.stderr
    assert run("figure9", "--out", out).exit_code == 2
    assert "unknown target" in run("figure9", "--out", out).stderr
    assert set(TARGETS) >= {"figure1", "figure2", "figure3", "table1", "table2"}
