"""NPZ and NPY: mapped where they can be, refused by name where they are broken."""

from __future__ import annotations

import io
import os
import re
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
    with pytest.raises(DataError, match=r"not an NPY file of numbers.*Python objects"):
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


# Damage


def large(tmp_path, name="data.npz"):
    """A file with a mapped member, and its bytes."""
    A = np.arange(20_000.0).reshape(200, 100)
    write_data(tmp_path / name, Data(A, np.ones(200)))
    return tmp_path / name, (tmp_path / name).read_bytes(), A


def test_a_flipped_bit_of_a_mapped_member_is_noticed(tmp_path):
    path, whole, A = large(tmp_path)
    for place in np.random.default_rng(0).choice(A.nbytes, 20, replace=False) + 400:
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"A\.npy is damaged \(its checksum is"):
            read_data(path)


def test_the_check_can_be_left_out(tmp_path):
    path, whole, A = large(tmp_path)
    broken = bytearray(whole)
    broken[5000] ^= 0x01
    path.write_bytes(broken)
    again = read_data(path, check=False).A
    assert np.sum(again != A) == 1
    assert isinstance(base_of(again), np.memmap)


def test_every_flipped_byte_outside_the_large_member_is_noticed_or_harmless(tmp_path):
    path, whole, A = large(tmp_path)
    places = [*range(400), *range(len(whole) - 2400, len(whole))]
    for place in np.random.default_rng(1).choice(places, 300, replace=False):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        path.write_bytes(broken)
        try:
            data = read_data(path)
        except DataError:
            continue
        np.testing.assert_array_equal(data.A, A)
        assert data.b is None or data.b.tolist() == [1.0] * 200  # its name may have gone


def test_a_compressed_member_is_checked(tmp_path):
    A = np.random.default_rng(0).standard_normal((200, 100))
    np.savez_compressed(tmp_path / "data.npz", A=A)
    whole = (tmp_path / "data.npz").read_bytes()
    for place in np.random.default_rng(1).choice(len(whole) - 400, 30, replace=False) + 200:
        broken = bytearray(whole)
        broken[place] ^= 0x10
        (tmp_path / "data.npz").write_bytes(broken)
        with pytest.raises(DataError, match=r"data\.npz"):
            read_data(tmp_path / "data.npz")


def test_a_local_header_that_moves_the_data_is_noticed(tmp_path):
    """The length of its extra field is not in the central directory: 64 bytes more, or less."""
    path, whole, _ = large(tmp_path)
    for change in (-16, 16, 64):
        broken = bytearray(whole)
        extra = int.from_bytes(broken[28:30], "little")
        broken[28:30] = (extra + change).to_bytes(2, "little")
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"A\.npy is damaged"):
            read_data(path)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.eye(2))
    with zipfile.ZipFile(tmp_path / "two.npz", "w") as archive:
        archive.writestr("A.npy", stream.getvalue())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("A.npy", stream.getvalue())
    with pytest.raises(DataError, match="two arrays called A"):
        read_data(tmp_path / "two.npz")


def kinds(tmp_path):
    parts = {"data": np.ones(1), "indices": [0], "indptr": [0, 1], "shape": [1, 1]}
    for name, change, message in [
        ("shape.npz", {"shape": ["1", "1"]}, "shape has type <U1: whole numbers only"),
        ("float.npz", {"indices": [0.5]}, "indices has type float64: whole numbers only"),
        ("format.npz", {"format": ["csr", "csc"]}, "format is no name"),
        ("text.npz", {"data": ["x"]}, "data has dtype <U1: numbers only"),
        ("three.npz", {"shape": [1, 1, 1]}, "broken sparse matrix"),
    ]:
        np.savez(tmp_path / name, **(parts | change))
        yield name, message
    np.savez(tmp_path / "bytes.npz", A=np.array([[b"x"]]))
    yield "bytes.npz", "A has dtype |S1: numbers only"
    np.savez(tmp_path / "complex.npz", A=np.array([[1j]]))
    yield "complex.npz", "A has dtype complex128: numbers only"
    np.savez(tmp_path / "dates.npz", A=np.eye(1), b=np.array(["2020-01-01"], "M8[D]"))
    yield "dates.npz", "numbers or text only"
    for name, table in [("bytes.npy", [[b"x"]]), ("text.npy", [["x"]]), ("complex.npy", [[1j]])]:
        np.save(tmp_path / name, np.array(table))
        yield name, "numbers only"
    np.save(tmp_path / "fields.npy", np.zeros((2, 2), dtype=[("a", "f8"), ("b", "i4")]))
    yield "fields.npy", "numbers only"
    np.save(tmp_path / "long.npy", np.eye(3))
    with (tmp_path / "long.npy").open("ab") as stream:
        stream.write(b"more")
    yield "long.npy", "not as long as its header says"
    np.save(tmp_path / "short.npy", np.eye(3))
    os.truncate(tmp_path / "short.npy", 150)
    yield "short.npy", "not as long as its header says"


def test_what_holds_no_numbers_is_refused_by_name(tmp_path):
    for name, message in kinds(tmp_path):
        with pytest.raises(DataError, match=re.escape(message)) as caught:
            read_data(tmp_path / name)
        assert name in str(caught.value)


HEADERS = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3",  # ends early
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3 3), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, -3), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, -3), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 9), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': ('3', '3'), }",
    b"{'descr': '<q9', 'fortran_order': False, 'shape': (3, 3), }",
    b"{'descr': '<U0', 'fortran_order': False, 'shape': (3, 3), }",
    b"{'descr': ('<f8', (3,)), 'fortran_order': False, 'shape': (3, 1), }",
    b"{'descr': 7, 'fortran_order': False, 'shape': (3, 3), }",
    b"{'descr': '<f8', 'fortran_order': 2, 'shape': (3, 3), }",
    b"[" * 5000,
    b"(" * 120,
    b"'" * 3,
    b"\xff\xfe\x00{",
    b"1 +",
    b"",
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_a_damaged_header_is_named_wherever_it_stands(tmp_path, header):
    magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    content = magic + header + np.eye(3).tobytes()
    (tmp_path / "t.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("A.npy", content)
    for name in ("t.npy", "t.npz"):
        with pytest.raises(DataError, match=name):
            read_data(tmp_path / name)
