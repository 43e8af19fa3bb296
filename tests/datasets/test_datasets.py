"""Data sets: found in folders, downloaded once from a local server, checked every time."""

from __future__ import annotations

import bz2
import functools
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from spd1 import datasets
from spd1.cli.app import app
from spd1.datasets import COLLECTION, DataSet, OfflineError, fetch, find, load, make_synthetic
from spd1.errors import DataError, ParameterError

TEXT = b"+1 1:1 2:2\n-1 2:3 3:1\n"


class Handler(SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache folder, no data folder, and one small data set in the collection."""
    monkeypatch.setenv("SPD1_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPD1_DATA", raising=False)
    monkeypatch.setenv("SPD1_MIRROR", "http://127.0.0.1:9/")  # nobody listens
    for data in (DataSet("tiny", 2, 3, "binary/tiny_scale.bz2"), DataSet("mine", 2, 3)):
        monkeypatch.setitem(COLLECTION, data.name, data)
    return tmp_path


@pytest.fixture
def server(home, monkeypatch):
    """A server on this machine with the small data set."""
    (home / "www" / "binary").mkdir(parents=True)
    (home / "www" / "binary" / "tiny_scale.bz2").write_bytes(bz2.compress(TEXT))
    handler = functools.partial(Handler, directory=str(home / "www"))
    Handler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("SPD1_MIRROR", f"http://127.0.0.1:{running.server_port}")
        yield home
        running.shutdown()


def test_downloaded_once_and_recorded(server):
    data = load("tiny")
    assert data.A.tolist() == [[1, 2, 0], [0, 3, 1]]
    assert data.b.tolist() == [1, -1]
    load("tiny")
    assert fetch("tiny") == server / "cache" / "tiny_scale.bz2"
    assert Handler.asked == ["/binary/tiny_scale.bz2"]
    record = json.loads((server / "cache" / "checksums.json").read_text())
    assert list(record) == ["tiny_scale.bz2"]


def test_a_file_that_changed_after_the_download_is_refused(server):
    path = fetch("tiny")
    path.write_bytes(bz2.compress(TEXT.replace(b"2:3", b"2:4")))
    for use in (load, fetch):
        with pytest.raises(DataError, match="has changed since it was downloaded"):
            use("tiny")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bz2.compress(TEXT + TEXT), "4 x 3, but tiny is 2 x 3"),
        (bz2.compress(TEXT)[:-10], "cut off or corrupted"),
        (b"<html>moved</html>", "tiny_scale"),
        (bz2.compress(b"1 9:1\n-1 1:1\n"), "though there are 3 features"),
    ],
)
def test_a_wrong_download_is_refused_and_not_kept(server, content, message):
    (server / "www" / "binary" / "tiny_scale.bz2").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load("tiny")
    assert not (server / "cache" / "tiny_scale.bz2").exists()
    (server / "www" / "binary" / "tiny_scale.bz2").write_bytes(bz2.compress(TEXT))
    assert load("tiny").A.shape == (2, 3)


def test_a_missing_page_says_what_to_do(server):
    (server / "www" / "binary" / "tiny_scale.bz2").unlink()
    with pytest.raises(OfflineError, match="404") as caught:
        load("tiny")
    assert "SPD1_DATA" in str(caught.value)


def test_offline_says_so_in_one_sentence(home):
    with pytest.raises(OfflineError) as caught:
        load("tiny")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("tiny can't be downloaded")
    assert f"put it into {home / 'cache'}" in message
    assert "www.csie.ntu.edu.tw" in message


def test_not_asked_to_download(home):
    with pytest.raises(OfflineError, match="downloading was not allowed"):
        load("tiny", download=False)


def test_without_pooch_the_extra_is_named(home, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"spd1\[data\]"):
        load("tiny")


@pytest.mark.parametrize(
    "name", ["tiny.svm", "tiny", "tiny_scale.bz2", "tiny.svm.bz2", "tiny_scale"]
)
@pytest.mark.parametrize("place", ["cache", "data", "argument"])
def test_a_file_put_there_by_hand(home, monkeypatch, name, place):
    folder = home / place
    folder.mkdir()
    (folder / name).write_bytes(bz2.compress(TEXT) if name.endswith(".bz2") else TEXT)
    if place == "data":
        monkeypatch.setenv("SPD1_DATA", str(folder))
    data = load("tiny", folder=folder if place == "argument" else None)
    assert data.A.shape == (2, 3)
    assert data.b.tolist() == [1, -1]


def test_a_file_by_hand_of_another_shape_is_refused(home):
    (home / "cache").mkdir()
    (home / "cache" / "tiny.svm").write_bytes(TEXT + TEXT)
    with pytest.raises(DataError, match="not the file it is named after"):
        load("tiny")


def test_stand_ins_are_only_had_by_hand(home):
    with pytest.raises(OfflineError, match=r"put a file mine\.svm into a folder"):
        load("mine")


def test_unknown_names(home):
    with pytest.raises(ParameterError, match="unknown data set 'colon': choose from colon-cancer"):
        load("colon")
    with pytest.raises(ParameterError, match="unknown data set"):
        fetch("colon")
    (home / "cache").mkdir()
    (home / "cache" / "colon.svm").write_bytes(TEXT)
    assert load("colon").A.shape == (2, 3)


def test_names_with_dots_and_test_sets_are_not_mixed_up(home):
    (home / "cache").mkdir()
    for name in ("rcv1.svm", "leukemia.t.svm.bz2", "rcv1_train.binary.bz2"):
        (home / "cache" / name).write_bytes(b"")
    assert find("leukemia") is None
    assert find("rcv1.binary").name == "rcv1_train.binary.bz2"
    assert find("rcv1").name == "rcv1.svm"


def test_full_data_is_dense_and_sparse_data_sparse(home):
    (home / "cache").mkdir()
    (home / "cache" / "thin.svm").write_bytes(b"1 1:1 9:1\n-1 2:1\n")
    assert sp.issparse(load("thin").A)
    (home / "cache" / "full.svm").write_bytes(b"1 1:1 2:1\n-1 2:1\n")
    assert isinstance(load("full").A, np.ndarray)


def test_the_papers_sets_have_the_papers_shapes():
    shapes = {name: COLLECTION[name][1:3] for name in ("colon-cancer", "gisette", "rcv1.binary")}
    assert shapes == {
        "colon-cancer": (62, 2000), "gisette": (6000, 5000), "rcv1.binary": (20_242, 47_236)
    }  # fmt: skip


def test_synthetic_data_follows_its_definition():
    A, b = make_synthetic(n=400, d=300, noise=2.0, seed=5)
    rng = np.random.default_rng(5)
    np.testing.assert_array_equal(A, rng.standard_normal((400, 300)))
    score = A @ rng.standard_normal(300) + 2.0 * rng.standard_normal(400)
    np.testing.assert_array_equal(b, np.where(score >= 0, 1.0, -1.0))


def run(*arguments):
    return CliRunner().invoke(app, ["datasets", *arguments])


def test_command_line(server):
    found = json.loads(run("list", "--json").stdout)["datasets"]
    assert {row["name"] for row in found} == set(COLLECTION)
    assert not any(row["here"] for row in found)
    done = run("fetch", "tiny")
    assert done.exit_code == 0
    assert done.stdout.strip() == str(datasets.cache_folder() / "tiny_scale.bz2")
    assert "here" in next(line for line in run("list").stdout.splitlines() if "tiny" in line)


def test_command_line_offline_and_unknown(home):
    offline = run("fetch", "tiny")
    assert (offline.exit_code, "SPD1_DATA" in offline.stderr) == (5, True)
    assert run("fetch", "nonsense").exit_code == 2
