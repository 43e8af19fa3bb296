"""Sparse matrices that lie about themselves, by a seed; run as a program it tries many of them.

A lie that was not seen ends in a segmentation fault, so tests run this in a process of its own:
``python -m support.hostile_matrices COUNT SEED``.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.data.convert import as_matrix, as_scipy
from spd1.errors import DataError
from spd1.io import Model, read_data
from spd1.linear_model import Ridge

EXTREMES = [
    -1,
    -7,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32 - 1,
    2**32,
    2**63 - 1,
    -(2**63),
    10**6,
    10**12,
]
KINDS = {"csr": sp.csr_array, "csc": sp.csc_array, "csr_m": sp.csr_matrix, "csc_m": sp.csc_matrix}


def honest(rng):
    """A matrix of small whole numbers: every sum of its products is exact."""
    n, d = rng.integers(1, 9, 2)
    A = rng.integers(-4, 5, (n, d)) * (rng.random((n, d)) < rng.choice([0.2, 0.6, 1.0]))
    return A.astype(rng.choice([np.float64, np.float32]))


def put(rng, values, number):
    """Write a number somewhere; wrapped to the array's type as a careless writer would."""
    if len(values):
        info = np.iinfo(values.dtype)
        span = int(info.max) - int(info.min) + 1
        values[rng.integers(len(values))] = (number - int(info.min)) % span + int(info.min)


def hurt_numbers(rng, M, name):
    values = getattr(M, name).copy()
    put(rng, values, int(rng.choice([*map(str, EXTREMES), str(rng.integers(-3, 12))])))
    setattr(M, name, values)


def hurt_wrapping_ends(rng, M, name):
    """Up to the largest number, on to -2, and back: every difference wraps to one above zero."""
    ends = M.indptr.copy()
    if len(ends) > 2:
        k = rng.integers(1, len(ends) - 1)
        ends[k : k + 2] = (np.iinfo(ends.dtype).max, -2)[: len(ends[k : k + 2])]
    M.indptr = ends


def hurt_length(rng, M, name):
    values = getattr(M, name)
    size = int(rng.integers(0, len(values) + 3))
    setattr(M, name, np.resize(values, size) if len(values) else np.zeros(size, values.dtype))


def hurt_order(rng, M, name):
    order = rng.permutation(len(M.indices))
    M.indices = M.indices[order]


def hurt_twice(rng, M, name):
    indices = M.indices.copy()
    if len(indices):
        indices[:] = indices[rng.integers(0, len(indices), len(indices))]
    M.indices = indices


def hurt_type(rng, M, name):
    kind = rng.choice(["u4", "u8", "i2", "i1", "u1", ">i4", ">i8", "f8", "?", "i8", "U3", "O"])
    setattr(M, name, getattr(M, name).astype(kind))


def hurt_layout(rng, M, name):
    values = getattr(M, name)
    if rng.random() < 0.5:
        wide = np.zeros(2 * len(values), values.dtype)
        wide[::2] = values
        setattr(M, name, wide[::2])
    else:
        raw = np.zeros(values.nbytes + 1, np.uint8)
        odd = raw[1:].view(values.dtype)
        odd[:] = values
        setattr(M, name, odd)


def hurt_dimensions(rng, M, name):
    setattr(M, name, getattr(M, name)[:, None] if rng.random() < 0.5 else getattr(M, name).tolist())


def hurt_shape(rng, M, name):
    n, d = M.shape
    options = [
        (n + 1, d),
        (n, max(d - 1, 0)),
        (n, d + 5),
        (d, n),
        (-1, d),
        (n, 10**13),
        (0, 0),
        (n,),
    ]
    M._shape = options[rng.integers(len(options))]


def hurt_values(rng, M, name):
    values = M.data.copy()
    if len(values):
        values[rng.integers(len(values))] = rng.choice([np.nan, np.inf, -np.inf])
    M.data = values


HURTS = [hurt_numbers, hurt_numbers, hurt_wrapping_ends, hurt_length, hurt_order, hurt_twice,
         hurt_type, hurt_layout, hurt_dimensions, hurt_shape, hurt_values]  # fmt: skip


def lying(rng):
    """A compressed matrix with one to three lies, and flags that say all is well."""
    M = list(KINDS.values())[rng.integers(len(KINDS))](honest(rng))
    index = np.int32 if rng.random() < 0.6 else np.int64
    M.indices, M.indptr = M.indices.astype(index), M.indptr.astype(index)
    names = [HURTS[k] for k in rng.integers(0, len(HURTS), rng.integers(1, 4))]
    for hurt in names:
        try:
            hurt(rng, M, rng.choice(["data", "indices", "indptr"]))
        except (AttributeError, TypeError, ValueError, OverflowError, IndexError):
            continue  # the lies do not go together
    if rng.random() < 0.7:
        M.has_sorted_indices = True
        M.has_canonical_format = True
    return M


def other_format(rng):
    """COO, BSR, DIA, LIL or DOK with an index that leads outside, or none."""
    A, kind = honest(rng), rng.choice(["coo", "bsr", "dia", "lil", "dok"])
    M = sp.csr_array(A).asformat(kind)
    number = int(rng.choice([*map(str, EXTREMES[:5]), "3", "0"]))
    try:
        if kind == "coo":
            put(rng, M.row if rng.random() < 0.5 else M.col, number)
        elif kind == "bsr":
            put(rng, M.indices if rng.random() < 0.5 else M.indptr, number)
        elif kind == "dia":
            put(rng, M.offsets, number)
        elif kind == "lil":
            M.rows[0] = [*M.rows[0], number]
            if rng.random() < 0.5:
                M.data[0] = [*M.data[0], 1.0]
        else:
            M._dict[(number, 0)] = A.dtype.type(1)
    except (AttributeError, TypeError, ValueError, OverflowError, IndexError):
        pass
    return M


def safe_reading(M):
    """The array that a matrix stands for, entry by entry; None if it leads outside its data."""
    try:
        if M.format == "coo":
            triples = zip(M.row.tolist(), M.col.tolist(), M.data.tolist(), strict=True)
        elif M.format in ("csr", "csc"):
            triples = list(entries(M))
        else:
            return None  # SciPy's word is no word here: a refusal, or agreement between doors
        n, d = M.shape
        A = np.zeros((n, d))
        for i, j, value in triples:
            if not (0 <= i < n and 0 <= j < d):
                return None
            A[i, j] = (A[i, j] or value) if value is True else A[i, j] + value
        return A
    except (AttributeError, IndexError, MemoryError, OverflowError, TypeError, ValueError):
        return None


def entries(M):
    ends, places, values = M.indptr.tolist(), M.indices.tolist(), M.data.tolist()
    lines = M.shape[0] if M.format == "csr" else M.shape[1]
    whole = all(type(v) is int for v in [*ends, *places])
    if not whole or len(ends) != lines + 1 or ends[0] != 0 or len(places) != len(values):
        raise ValueError
    for line, (start, end) in enumerate(pairwise(ends)):
        if not 0 <= start <= end <= len(places):
            raise ValueError
        for k in range(start, end):
            yield (
                (line, places[k], values[k]) if M.format == "csr" else (places[k], line, values[k])
            )


# The doors: each says what it takes the matrix for, as products with whole numbers.


def door_matrix(M, x):
    A = as_matrix(M)
    return (as_scipy(A) if sp.issparse(M) else A.values) @ x


def door_problem(M, x):
    problem = spd1.Problem(M, np.ones(max(M.shape[0], 0)), "squared", spd1.L2(1.0))
    proof = spd1.certify(x, problem)
    u = problem.margins(x)
    value = 0.5 * np.mean((u - 1.0) ** 2) + 0.5 * float(x @ x)
    assert abs(proof.primal - value) <= 1e-12 * max(1.0, value)
    return u


def door_model(M, x):
    return Model(x, np.zeros(1), spd1.Squared(), spd1.L2(1.0), len(x)).decision(M)


def door_estimator(M, x):
    estimator = Ridge()
    estimator.coef_, estimator.intercept_, estimator.n_features_in_ = x, 0.0, len(x)
    try:
        return estimator.predict(M)
    except ValueError as error:  # scikit-learn's own check says so
        raise DataError(str(error)) from None


def door_fit(M, x):
    estimator = Ridge(tol=1e-12, fit_intercept=False).fit(M, np.ones(max(M.shape[0], 0)))
    twin = Ridge(tol=1e-12, fit_intercept=False).fit(as_dense(M), np.ones(M.shape[0]))
    np.testing.assert_allclose(estimator.coef_, twin.coef_, atol=1e-3)
    return door_matrix(M, x)


def door_file(M, x):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "M.npz")
        try:
            np.savez(path, data=M.data, indices=M.indices, indptr=M.indptr, shape=M.shape,
                     format=M.format.encode())  # fmt: skip
        except (AttributeError, ValueError):
            return door_matrix(M, x)
        return door_matrix(read_data(path).A, x)


def as_dense(M):
    return as_scipy(as_matrix(M)).toarray()


def attempt(rng, fits):
    """What one matrix leads to: refused, or read; anything else is raised."""
    M = lying(rng) if rng.random() < 0.85 else other_format(rng)
    doors = [door_matrix, door_problem, door_model, door_estimator, door_file]
    door = door_fit if rng.random() < fits else doors[rng.integers(len(doors))]
    if door is door_file:  # lists become arrays on the way to a file
        with suppress(AttributeError, ValueError):
            M.data, M.indices, M.indptr = map(np.asarray, (M.data, M.indices, M.indptr))
    wanted = safe_reading(M)
    width = M.shape[1] if len(M.shape) == 2 and 0 < M.shape[1] < 100 else 1
    x = rng.integers(-3, 4, width).astype(float)
    try:
        found = door(M, x)
    except DataError:
        return "refused"
    if wanted is None and M.format in ("csr", "csc", "coo"):
        raise AssertionError(f"{door.__name__} took what leads outside its data")
    if wanted is not None and np.all(np.abs(wanted) < 2**40):  # sums are exact
        np.testing.assert_array_equal(found, wanted @ x, err_msg=door.__name__)
    return "read"


def main(count, seed):
    faulthandler.enable()
    warnings.simplefilter("ignore")  # of SciPy, about matrices that are slow to convert
    seen = Counter()
    fits = 0.05 if count > 1000 else 0.0  # share of matrices that are fitted: compiles for a while
    for k in range(count):
        try:
            seen[attempt(np.random.default_rng([seed, k]), fits)] += 1
        except Exception as error:
            raise AssertionError(f"matrix {k} of seed {seed}: {type(error).__name__}") from error
    print(seen["refused"], seen["read"])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
