"""Draws by importance: long rows, columns and entries more often, each time with shorter steps.

In dense data row and column are drawn independently (``Importance``), in sparse data a stored entry
is (``ImportantEntries``). What a draw hands out is scaled so that both estimates are unbiased.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import DataError, IncompatibleError
from ...kernel.jit import compiled, helper
from ...kernel.rng import S11, TO_UNIT, alias_table, aliased, bits
from ...problem import Problem
from .sampling import NOTHING_STORED, Sampler
from .tuning import UNIFORM_SHARE

__all__ = ["Importance", "ImportantEntries", "importance_sampler"]


@compiled(Sampler)
class Importance(NamedTuple):
    """Row and column independent, by their norms: row i with pi_i, column j with rho_j.

    Entries come times 1 / (n pi_i d rho_j), and the shares are 1 / (d rho_j) and 1 / (d n pi_i):
    then both estimates are unbiased, and every line has the same total step in a pass, the longer
    it is the more often and the less at once.
    """

    A: Any
    row_limits: np.ndarray  # see ``alias_table``
    row_others: np.ndarray
    column_limits: np.ndarray
    column_others: np.ndarray
    row_factors: np.ndarray  # 1 / (n pi_i)
    column_factors: np.ndarray  # 1 / (d rho_j)
    share: float  # 1 / d

    def pair(self, key, counter):
        i = aliased(key, counter, self.row_limits, self.row_others)
        j = aliased(key, counter + 1, self.column_limits, self.column_others)
        return i, j, self.A.entry(i, j) * self.row_factors[i] * self.column_factors[j]

    def in_column(self, key, counter, j):
        i = aliased(key, counter, self.row_limits, self.row_others)
        return i, self.A.entry(i, j) * self.row_factors[i] * self.column_factors[j]

    def in_row(self, key, counter, i):
        j = aliased(key, counter, self.column_limits, self.column_others)
        return j, self.A.entry(i, j) * self.row_factors[i] * self.column_factors[j]

    def column_share(self, j):
        return self.column_factors[j]

    def row_share(self, i):
        return self.share * self.row_factors[i]


@helper
def within(ends, start, stop, key, counter):
    """Draw a place from start .. stop-1 by the running sums ``ends`` of a line's probabilities."""
    unit = np.float64(np.int64(bits(key, counter) >> S11)) * TO_UNIT
    wanted = unit * ends[stop - 1]
    low, high = start, stop - 1
    while low < high:  # the first place whose sum is above
        middle = (low + high) >> 1
        if ends[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@compiled(Sampler)
class ImportantEntries(NamedTuple):
    """Stored entries of sparse data, (i, j) with probability p_ij.

    With N stored entries, r_i the sum of p_ij over a row and q_j that over a column: entries come
    times 1 / (N p_ij), and the shares are 1 / (N r_i) and n / (N q_j). Then
    both estimates are unbiased, and every line has the same total step in a pass. With p_ij = 1/N
    these are the shares of ``Nonzeros``.
    """

    by_rows: Any  # CSR
    by_columns: Any  # CSC
    row_limits: np.ndarray  # of the draws of a row: see ``alias_table``
    row_others: np.ndarray
    row_ends: np.ndarray  # running sums of p_ij along each row, in the order of by_rows, ...
    column_ends: np.ndarray  # ... and along each column
    row_scaled: np.ndarray  # a_ij / (N p_ij), in the order of by_rows, ...
    column_scaled: np.ndarray  # ... and of by_columns
    row_shares: np.ndarray
    column_shares: np.ndarray

    def pair(self, key, counter):
        i = aliased(key, counter, self.row_limits, self.row_others)
        j, a = self.in_row(key, counter + 1, i)
        return i, j, a

    def in_column(self, key, counter, j):
        start = np.int64(self.by_columns.indptr[j])
        stop = np.int64(self.by_columns.indptr[j + np.uint64(1)])
        at = within(self.column_ends, start, stop, key, counter)
        return np.uint64(self.by_columns.indices[at]), self.column_scaled[at]

    def in_row(self, key, counter, i):
        start = np.int64(self.by_rows.indptr[i])
        stop = np.int64(self.by_rows.indptr[i + np.uint64(1)])
        at = within(self.row_ends, start, stop, key, counter)
        return np.uint64(self.by_rows.indices[at]), self.row_scaled[at]

    def column_share(self, j):
        return self.column_shares[j]

    def row_share(self, i):
        return self.row_shares[i]


def importance_sampler(problem: Problem) -> Importance | ImportantEntries:
    """The sampler of sampling="importance"; some of the draws are uniform."""
    if problem.grid.shape != (1, 1):
        raise IncompatibleError(
            "sampling='importance' takes data in one piece: use sampling='uniform' or 'nonzeros'"
        )
    return important_lines(problem) if problem.grid.dense else important_entries(problem)


def important_lines(problem: Problem) -> Importance:
    """Rows by c_i |a_i|^2, columns by the sum of c_i a_ij^2."""
    p = problem
    columns = p.column_norms_squared if p.uniform_weights else p.grid.weighted_squares(p.c)
    pi, rho = mixed(p.c * p.row_norms_squared), mixed(columns)
    return Importance(
        p.grid.matrix, *alias_table(pi), *alias_table(rho), 1.0 / (p.n * pi), 1.0 / (p.d * rho),
        1.0 / p.d,
    )  # fmt: skip


def important_entries(problem: Problem) -> ImportantEntries:
    """Entries by |a_ij|, times the sum of these along its row, or along its column.

    What steps may be as large as is the largest sum of c_i a_ij^2 / p_ij along a row or a column
    (docs/laboratory/family.md). For rows alone p_ij ~ c_i |a_ij| sum_k |a_ik| makes that least, for
    columns alone p_ij ~ w_ij sum_k w_kj with w_ij = sqrt(c_i) |a_ij|: the mean of both is within a
    factor of two of either.
    """
    p, grid = problem, problem.grid
    rows, columns = grid.by_rows.matrix, grid.by_columns.matrix
    N = rows.stored
    if N == 0:
        raise DataError(NOTHING_STORED)
    row_of = np.repeat(np.arange(p.n), np.diff(rows.indptr.astype(np.int64)))
    column_of = np.repeat(np.arange(p.d), np.diff(columns.indptr.astype(np.int64)))
    root = np.sqrt(p.c)
    w = root[row_of] * np.abs(rows.data.astype(float))
    w_turned = root[columns.indices] * np.abs(columns.data.astype(float))
    along_rows = np.bincount(row_of, w, p.n)
    along_columns = np.bincount(column_of, w_turned, p.d)
    in_rows = chances_of(w, along_rows[row_of], along_columns[rows.indices])
    in_columns = chances_of(w_turned, along_rows[columns.indices], along_columns[column_of])
    r, q = np.bincount(row_of, in_rows, p.n), np.bincount(column_of, in_columns, p.d)
    grid.ledger.entries += 2 * N
    return ImportantEntries(
        rows, columns, *alias_table(r),
        running(in_rows, rows.indptr), running(in_columns, columns.indptr),
        rows.data / (N * in_rows), columns.data / (N * in_columns),
        1.0 / (N * np.where(r > 0, r, 1.0)), p.n / (N * np.where(q > 0, q, 1.0)),
    )  # fmt: skip


def chances_of(w: np.ndarray, along_row: np.ndarray, along_column: np.ndarray) -> np.ndarray:
    """Probabilities of entries of size w, given the sums of such sizes along their lines."""
    by_row, by_column = (shares_of(w * along) for along in (along_row, along_column))
    alike = UNIFORM_SHARE / len(w)
    return np.asarray(alike + (1.0 - UNIFORM_SHARE) * 0.5 * (by_row + by_column))


def mixed(sizes: np.ndarray) -> np.ndarray:
    """Probabilities by size, some of the draws uniform."""
    return np.asarray(UNIFORM_SHARE / len(sizes) + (1.0 - UNIFORM_SHARE) * shares_of(sizes))


def shares_of(sizes: np.ndarray) -> np.ndarray:
    """Probabilities by size; alike if nothing has a size."""
    total = float(sizes.sum())
    return sizes / total if total > 0 else np.full(len(sizes), 1.0 / len(sizes))


def running(chances: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Running sums that start anew with every line."""
    ends, starts = np.cumsum(chances), indptr.astype(np.int64)
    before = np.concatenate([[0.0], ends])[starts[:-1]]
    return np.asarray(ends - np.repeat(before, np.diff(starts)))
