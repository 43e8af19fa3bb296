"""LIBSVM text: everything the format allows, and a line number for everything it does not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from spd1.errors import DataError, ParameterError
from spd1.io import iter_libsvm, libsvm_to_npz, read_data, read_libsvm, write_libsvm
from spd1.io.libsvm_text import number


@pytest.fixture
def write(tmp_path):
    def writer(text, name="data.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


def test_labels_comments_queries_blank_lines_and_windows_ends(write):
    path = write("# head 1:2\n+1 qid:3 1:0.5 3:-2e-1 # note 9:9\r\n\n   \n-1\t2:.5\n2.5 3:1#x\n0\n")
    data = read_libsvm(path)
    expected = [[0.5, 0, -0.2], [0, 0.5, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(data.A.toarray(), expected)
    assert data.b.tolist() == [1, -1, 2.5, 0]


def test_unsorted_indices_are_sorted_and_duplicates_added(write):
    data = read_libsvm(write("1 3:3 1:1 3:0.5\n"))
    assert data.A.has_canonical_format
    assert data.A.toarray().tolist() == [[1, 0, 3.5]]


@pytest.mark.parametrize(
    ("text", "zero_based", "expected"),
    [
        ("1 0:5 2:7\n", "auto", [[5, 0, 7]]),
        ("1 1:5 2:7\n", "auto", [[5, 7]]),
        ("1 1:5 2:7\n", True, [[0, 5, 7]]),
        ("1 1:5 2:7\n", False, [[5, 7]]),
    ],
)
def test_zero_and_one_based(write, text, zero_based, expected):
    assert read_libsvm(write(text), zero_based=zero_based).A.toarray().tolist() == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one 1:2", "label 'one'"),
        ("1,2 1:2", "label '1,2'"),
        ("1:2 2:3", "label '1:2'"),
        ("nan 1:2", "label 'nan'"),
        ("1e999 1:2", "'1e999' is not a finite"),
        ("1 2", "'2' is not of the form"),
        ("1 a:2", "index in 'a:2'"),
        ("1 -1:2", "index in '-1:2'"),
        ("1 1.5:2", "index in '1.5:2'"),
        ("1 :2", "index in ':2'"),
        ("1 99999999999999999999:2", "too large"),
        ("1 1:", "value in '1:'"),
        ("1 1:x", "value in '1:x'"),
        ("1 1:2:3", "value in '1:2:3'"),
        ("1 1:nan", "value in '1:nan'"),
        ("1 1:inf", "value in '1:inf'"),
        ("1 1:1e400", "'1e400' is not a finite"),
        ("1 1:0x10", "value in '1:0x10'"),
        ("1 1:1_0", "value in '1:1_0'"),
        ("1 1:2e", "value in '1:2e'"),
        ("1 qid:x 1:2", "query in 'qid:x'"),
        ("1 0:2", "index 0"),
        ("1 9:2", "index 9, though there are 5"),
        ("\x00 1:2", "label"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 10**6])
def test_a_broken_line_is_named_by_its_number(write, line, message, chunk):
    path = write(f"# comment\n1 1:1\n\n{line}\n1 1:1\n")
    with pytest.raises(DataError, match="line 4: ") as caught:
        list(iter_libsvm(path, n_features=5, chunk_bytes=chunk))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_rows_is_refused(write, text):
    with pytest.raises(DataError, match="no rows"):
        read_libsvm(write(text))


def test_labels_alone_are_refused(write):
    with pytest.raises(DataError, match="no features"):
        read_libsvm(write("1\n-1\n"))
    assert read_libsvm(write("1\n-1\n"), n_features=2).A.shape == (2, 2)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)],
)
def test_compressed_text_and_no_last_newline(write, suffix, compress):
    data = read_libsvm(write(compress(b"1 1:2\n-1 2:3"), f"data{suffix}"))
    assert data.A.toarray().tolist() == [[2, 0], [0, 3]]


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_truncated_archive_is_named(write, suffix, compress):
    packed = compress(b"".join(b"1 1:%d 2:%d\n" % (k * 7919 % 997, k) for k in range(5000)))
    path = write(packed[: len(packed) // 2], f"data{suffix}")
    with pytest.raises(DataError, match="cut off or corrupted"):
        read_libsvm(path)


def test_what_is_no_archive_at_all_is_named(write):
    for suffix in (".gz", ".bz2", ".xz"):
        with pytest.raises(DataError, match="data"):
            read_libsvm(write("1 1:2\n", f"data{suffix}"))


def test_byte_order_mark_is_skipped_and_utf16_is_not_text(write):
    assert read_libsvm(write(b"\xef\xbb\xbf1 1:2\n")).b.tolist() == [1]
    with pytest.raises(DataError, match="line 1"):
        read_libsvm(write("1 1:2\n".encode("utf-16")))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_libsvm(tmp_path / "none.svm")
    with pytest.raises(DataError, match="is a folder"):
        read_libsvm(tmp_path)


@pytest.mark.parametrize("options", [{"n_features": 0}, {"n_features": 2.5}, {"zero_based": "x"}])
def test_wrong_options_are_named(write, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        read_libsvm(write("1 1:2\n"), **options)


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.decimals(allow_nan=False, allow_infinity=False),
    )
)
def test_every_number_reads_to_the_nearest_double(value):
    text = repr(value) if isinstance(value, float) else str(value)
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    kind, digits, power = number(raw, 0, len(raw))
    assert kind in (1, 2)
    if kind == 1:
        exact = digits / 10.0**-power if power < 0 else digits * 10.0**power
        assert exact == float(text)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_round_trip_to_the_bit(tmp_path, dtype):
    rng = np.random.default_rng(3)
    A = sp.random_array((40, 30), density=0.2, rng=rng, format="csr", dtype=dtype)
    A.data[:5] = [1e-300 if dtype == np.float64 else 1e-38, -0.1, 1 / 3, 1e20, 12345678.9]
    b = rng.standard_normal(40)
    path = tmp_path / "out.svm.bz2"
    write_libsvm(path, A, b)
    again = read_libsvm(path, n_features=30)
    np.testing.assert_array_equal(again.A.toarray().astype(dtype), A.toarray())
    np.testing.assert_array_equal(again.b, b)


def test_agrees_with_scikit_learn(tmp_path):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(4)
    A = sp.random_array((60, 25), density=0.3, rng=rng, format="csr")
    path = str(tmp_path / "peer.svm")
    dump_svmlight_file(A, rng.integers(0, 3, 60), path, zero_based=False, comment="made\nhere")
    theirs = load_svmlight_file(path, n_features=25)
    ours = read_libsvm(path, n_features=25)
    np.testing.assert_array_equal(ours.A.toarray(), theirs[0].toarray())
    np.testing.assert_array_equal(ours.b, theirs[1])


@pytest.mark.parametrize("chunk", [1, 7, 64, 10**6])
def test_chunks_join_to_the_whole(write, chunk):
    random.seed(5)
    text = "".join(
        f"{random.choice([-1, 1])} "
        + " ".join(f"{j}:{random.random():.3f}" for j in range(1, random.randint(1, 9)))
        + random.choice(["\n", "\n\n", " # c\n"])
        for _ in range(50)
    )
    path = write(text)
    whole = read_libsvm(path, n_features=10)
    blocks = list(iter_libsvm(path, n_features=10, chunk_bytes=chunk))
    joined = sp.vstack([block.A for block in blocks])
    np.testing.assert_array_equal(joined.toarray(), whole.A.toarray())
    np.testing.assert_array_equal(np.concatenate([block.b for block in blocks]), whole.b)
    target = path.with_suffix(".npz")
    assert libsvm_to_npz(path, target, n_features=10, chunk_bytes=chunk) == (
        *whole.A.shape,
        whole.A.nnz,
    )
    converted = read_data(target)
    np.testing.assert_array_equal(converted.A.toarray(), whole.A.toarray())
    np.testing.assert_array_equal(converted.b, whole.b)
    np.testing.assert_array_equal(sp.load_npz(target).toarray(), whole.A.toarray())


def test_chunked_reading_needs_bounded_memory(write):
    import tracemalloc

    path = write("1 1:0.25 2:0.5 3:0.75\n" * 60_000)
    list(iter_libsvm(path, 3, chunk_bytes=2**12))  # compile
    tracemalloc.start()
    for _ in iter_libsvm(path, 3, chunk_bytes=2**16):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size * 1.2  # the whole at once takes some thirty times as much
