"""Damaged files of every format: a clean read or an error with a name, nothing else."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from spd1.cli.app import app
from spd1.errors import DataError, ParameterError
from spd1.io import fit_model, load_model, read_data
from support.hostile_files import damaged, damaged_inside, honest_files

NAMES = ["a.svm", "a.svm.gz", "a.svm.bz2", "a.svm.xz", "a.csv", "text.csv", "a.npz", "sparse.npz",
         "small.npz", "scipy.npz", "a.npy", "a.parquet", "a.spd1"]  # fmt: skip


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return honest_files(tmp_path_factory.mktemp("honest"))


def with_sums(content):
    """A model whose members are damaged, with checksums that fit them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {n: archive.read(n) for n in archive.namelist() if n != "SHA256SUMS"}
    sums = "".join(f"{hashlib.sha256(v).hexdigest()}  {n}\n" for n, v in members.items())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in (members | {"SHA256SUMS": sums.encode()}).items():
            archive.writestr(name, member)
    return stream.getvalue()


def attempt(path):
    """Read a file as a command would; what comes out is whole."""
    if path.suffix == ".spd1":
        model = load_model(path)
        model.predict(np.zeros((2, model.features)))
        return "read"
    data = read_data(path)
    n, d = data.A.shape
    assert data.b is None or data.b.shape == (n,)
    if sp.issparse(data.A):
        assert data.A.indptr[-1] == len(data.A.indices) == len(data.A.data)
        minor = d if data.A.format == "csr" else n
        assert not data.A.nnz or data.A.indices.max() < minor
    return "read"


def sweep(honest, name, folder, count):
    if name not in honest:
        pytest.skip("pyarrow is not here")
    seen, path = Counter(), folder / name
    archive = path.suffix in (".npz", ".spd1")
    for k in range(count):
        rng = np.random.default_rng([k, len(name)])
        content = (damaged_inside if archive and k % 2 else damaged)(rng, honest[name])
        if path.suffix == ".spd1" and k % 4 == 1:
            content = with_sums(content)
        path.write_bytes(content)
        try:
            seen[attempt(path)] += 1
        except (DataError, ParameterError) as error:
            seen["refused" if name in str(error) else f"no name: {error}"] += 1
        except Exception as error:
            pytest.fail(f"file {k}: {type(error).__name__}: {error}")
    assert set(seen) <= {"read", "refused"}
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused_by_name(honest, name, tmp_path):
    assert sweep(honest, name, tmp_path, 150)["refused"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_damaged_files(honest, name, tmp_path):
    assert sweep(honest, name, tmp_path, 4000)["refused"] > 400


@pytest.mark.parametrize("command", ["fit", "info", "compare"])
def test_an_index_that_no_memory_holds_is_named_with_its_line(tmp_path, monkeypatch, command):
    """As data it is fine: nothing of its width is allocated. A model of it is not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.svm").write_text("1 1:1\n-1 2:1 1000000000000:3\n1 1:2\n")
    data = read_data("wide.svm")
    assert data.A.shape == (3, 10**12)
    with pytest.raises(DataError, match="columns: vectors of these lengths take"):
        fit_model(data)
    done = CliRunner().invoke(app, [command, "wide.svm"])
    assert done.exit_code == 3
    assert "wide.svm, line 2: index 1,000,000,000,000: A has 3 rows and" in done.stderr
    assert "hash them into fewer" in done.stderr


def test_a_wide_file_is_converted_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.svm").write_text("1 1:1\n-1 2:1 1000000000000:3\n")
    assert CliRunner().invoke(app, ["convert", "wide.svm", "wide.npz"]).exit_code == 0
    assert read_data("wide.npz").A.shape == (2, 10**12)
