"""Damaged files by a seed: honest ones with bytes flipped, cut, doubled, swapped, overwritten."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.io import Data, fit_model, save_model, write_data

WORDS = [
    b"1e999", b"nan", b"inf", b"-", b"1:", b":1", b"999999999999999", b"4000000000:1", b"\x00",
    b"\xff\xfe", b'"', b",,", b"\n\n", b"#", b"qid:x", b"1e-400", b"0x10", b"1_000", b"(", b"{",
    b"'", b"\x93NUMPY", b"PK\x03\x04", b"-1", b"99999999999999999999999", b"\t", b"\r",
]  # fmt: skip


def honest_files(folder):
    """One file of every format, by name, as bytes."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 4))
    b = np.where(A[:, 0] > 0, 1.0, -1.0)
    data, sparse = Data(A, b), Data(sp.csr_array(A * (A > 0.3)), b)
    for name in ("a.svm", "a.svm.gz", "a.svm.bz2", "a.svm.xz", "a.csv", "a.npz", "a.npy"):
        write_data(folder / name, data)
    write_data(folder / "text.csv", Data(A, np.where(b > 0, "yes", "no")))
    write_data(folder / "sparse.npz", sparse)
    np.savez_compressed(folder / "small.npz", X=A, y=b)
    sp.save_npz(folder / "scipy.npz", sparse.A.tocsc())
    save_model(folder / "a.spd1", fit_model(data, "squared", spd1.L2(0.1), standardize=True)[0])
    with suppress(ImportError):
        write_data(folder / "a.parquet", data)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def flip(rng, content):
    places = rng.integers(0, len(content), rng.integers(1, 5))
    for place in places:
        content[place] ^= 1 << int(rng.integers(8))
    return content


def overwrite(rng, content):
    place = int(rng.integers(len(content)))
    size = int(rng.integers(1, 20))
    content[place : place + size] = rng.bytes(size)
    return content


def cut(rng, content):
    return content[: int(rng.integers(len(content)))]


def cut_inside(rng, content):
    start, end = sorted(rng.integers(0, len(content), 2))
    return content[:start] + content[end:]


def double(rng, content):
    start, end = sorted(rng.integers(0, len(content), 2))
    return content[:end] + content[start:end] + content[end:]


def swap(rng, content):
    start, middle, end = sorted(rng.integers(0, len(content), 3))
    return content[:start] + content[middle:end] + content[start:middle] + content[end:]


def put_word(rng, content):
    place = int(rng.integers(len(content)))
    word = WORDS[rng.integers(len(WORDS))]
    keep = len(word) if rng.random() < 0.5 else 0
    return content[:place] + word + content[place + keep :]


def add(rng, content):
    return content + rng.bytes(int(rng.integers(1, 50)))


HURTS = [flip, flip, overwrite, cut, cut_inside, double, swap, put_word, put_word, add]


def damaged(rng, content):
    """A file with one to three damages."""
    content = bytearray(content)
    for k in rng.integers(0, len(HURTS), rng.integers(1, 4)):
        content = bytearray(HURTS[k](rng, content)) or bytearray(b"x")
    return bytes(content)


def damaged_inside(rng, content):
    """A zip archive whose members are damaged and whose checksums are right all the same."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    victim = list(members)[rng.integers(len(members))]
    if rng.random() < 0.1:
        del members[victim]
    else:
        head = members[victim][:140] if rng.random() < 0.7 else members[victim]
        members[victim] = damaged(rng, head) + members[victim][len(head) :]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()
