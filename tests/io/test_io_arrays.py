"""NPZ and NPY: mapped where they can be, refused by name where they are broken."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.data.convert import as_matrix
from spd1.errors import DataError
from spd1.io import Data, libsvm_to_npz, read_data, write_data


def sparse(n=300, d=80):
    return sp.random_array((n, d), density=0.4, rng=np.random.default_rng(1), format="csr")


def base_of(array):
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_npz_round_trip(tmp_path, kind):
    A = sparse() if kind != "dense" else sparse().toarray()
    A = A.tocsc() if kind == "csc" else A
    b = np.arange(300.0)
    write_data(tmp_path / "data.npz", Data(A, b))
    again = read_data(tmp_path / "data.npz")
    assert (again.A.format if sp.issparse(again.A) else "dense") == kind
    np.testing.assert_array_equal(again.b, b)
    difference = again.A - A
    assert not (difference.nnz if sp.issparse(difference) else np.any(difference))


def test_large_members_are_mapped_and_kernels_use_them_where_they_lie(tmp_path):
    A = np.random.default_rng(2).standard_normal((400, 50))
    write_data(tmp_path / "dense.npz", Data(A, np.sign(A[:, 0])))
    data = read_data(tmp_path / "dense.npz")
    assert isinstance(base_of(data.A), np.memmap)
    assert np.shares_memory(as_matrix(data.A).values, data.A)
    result = spd1.solve(spd1.Problem(data.A, data.b, "logistic", spd1.L2(0.1)), tol=1e-4)
    assert result.converged


def test_converted_text_is_mapped(tmp_path):
    A = sparse(600, 100)
    write_data(tmp_path / "data.svm", Data(A, np.ones(600)))
    libsvm_to_npz(tmp_path / "data.svm", tmp_path / "data.npz", chunk_bytes=20_000)
    data = read_data(tmp_path / "data.npz")
    assert isinstance(base_of(data.A.data), np.memmap)
    view = as_matrix(data.A)
    assert np.shares_memory(view.data, data.A.data)
    assert view.data.flags.aligned
    assert view.indices.flags.aligned


def test_files_of_numpy_and_scipy_are_read(tmp_path):
    A, b = sparse(), np.ones(300)
    sp.save_npz(tmp_path / "scipy.npz", A)
    assert (read_data(tmp_path / "scipy.npz").A - A).nnz == 0
    assert read_data(tmp_path / "scipy.npz").b is None
    np.savez_compressed(tmp_path / "numpy.npz", X=A.toarray(), y=b)
    data = read_data(tmp_path / "numpy.npz")
    np.testing.assert_array_equal(data.A, A.toarray())
    np.testing.assert_array_equal(data.b, b)
    np.savez(tmp_path / "positional.npz", np.eye(3), np.ones(3))
    assert read_data(tmp_path / "positional.npz").b.tolist() == [1, 1, 1]
    np.savez(tmp_path / "fortran.npz", A=np.asfortranarray(A.toarray()))
    np.testing.assert_array_equal(read_data(tmp_path / "fortran.npz").A, A.toarray())


def test_npy_last_column_is_the_target(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "t.npy", table)
    data = read_data(tmp_path / "t.npy")
    np.testing.assert_array_equal(data.A, table[:, :3])
    np.testing.assert_array_equal(data.b, table[:, 3])
    np.testing.assert_array_equal(read_data(tmp_path / "t.npy", target=0).b, table[:, 0])
    assert read_data(tmp_path / "t.npy", n_features=4).b is None


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "evil.npz", A=np.array([{}], dtype=object), b=np.ones(1))
    with pytest.raises(DataError, match="Python objects"):
        read_data(tmp_path / "evil.npz")
    np.save(tmp_path / "evil.npy", np.array([[{}]], dtype=object))
    with pytest.raises(DataError, match="not an NPY file of numbers"):
        read_data(tmp_path / "evil.npy")


def broken_files(tmp_path):
    (tmp_path / "text.npz").write_text("1 1:2\n")
    yield "text.npz", "not an NPZ file"
    (tmp_path / "empty.npz").write_bytes(b"")
    yield "empty.npz", "not an NPZ file"
    with zipfile.ZipFile(tmp_path / "junk.npz", "w") as archive:
        archive.writestr("A.npy", b"no numpy magic here")
    yield "junk.npz", "A.npy is damaged"
    np.savez(tmp_path / "names.npz", first=np.eye(2))
    yield "names.npz", "no array called A or X; it has first"
    np.savez(tmp_path / "cube.npz", A=np.zeros((2, 2, 2)))
    yield "cube.npz", "3 dimensions"
    np.savez(tmp_path / "short.npz", A=np.eye(3), b=np.ones(2))
    yield "short.npz", "b has shape"
    np.savez(tmp_path / "coo.npz", data=np.ones(1), indices=np.zeros(1), indptr=np.zeros(2),
             shape=[1, 1], format=b"bsr")  # fmt: skip
    yield "coo.npz", "bsr form"
    np.savez(tmp_path / "csr.npz", data=np.ones(1), indices=np.array([0]), indptr=np.array([0, 1]),
             shape=[2, 1], format=b"csr")  # fmt: skip
    yield "csr.npz", "broken sparse matrix"
    (tmp_path / "text.npy").write_text("hello")
    yield "text.npy", "not an NPY file"
    np.save(tmp_path / "vector.npy", np.ones(3))
    yield "vector.npy", "two-dimensional"
    write_data(tmp_path / "cut.npz", Data(np.ones((200, 200)), None))
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    yield "cut.npz", "not an NPZ file"


def test_broken_files_are_named(tmp_path):
    for name, message in broken_files(tmp_path):
        with pytest.raises(DataError, match=message) as caught:
            read_data(tmp_path / name)
        assert name in str(caught.value)


def test_a_header_that_lies_about_its_size_is_refused(tmp_path):
    write_data(tmp_path / "data.npz", Data(np.ones((200, 200)), None))
    raw = (tmp_path / "data.npz").read_bytes()
    (tmp_path / "data.npz").write_bytes(raw.replace(b"(200, 200)", b"(900, 900)"))
    with pytest.raises(DataError, match=r"not as long as its header says|damaged"):
        read_data(tmp_path / "data.npz")
