"""What the parts of Newton's method cost on this machine, in seconds."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ...kernel.prices import prices, rates
from .tuning import CG_ENTRY, DROP_ENTRY, FACTOR, SPREAD, STEP_CALLS, TURNED

__all__ = ["Charges", "charges", "entry_of"]


class Charges(NamedTuple):
    """Seconds of an operation."""

    flop: float  # a multiplication and addition in BLAS and LAPACK
    entry: float  # a multiplication and addition with an entry of dense lines, read in order
    outer_pair: float  # a pair of entries of a sparse line, in a sum of outer products
    turned: float  # an entry of sparse lines when they are sorted by position
    spread: float  # an entry of sparse lines that are written out as dense ones
    drop_entry: float  # an entry of a factor, a coordinate that is dropped on the way
    cg_entry: float  # an entry of a line in a step of projected conjugate gradients, all in all
    factor: float  # times the cube of what a Cholesky factor has rows
    call: float  # a Newton step on a Gram matrix, however small


@cache
def charges() -> Charges:
    """The charges of this machine; always the same within a process.

    Examples
    --------
    >>> charges().factor < charges().flop < charges().entry
    True
    """
    here, rate = prices(), rates()
    return Charges(
        flop=here.flop,
        entry=here.entry,
        outer_pair=here.scattered_entry,
        turned=TURNED * rate.scattered_entry,
        spread=SPREAD * rate.page,  # most of it is fresh memory
        drop_entry=DROP_ENTRY * rate.entry,
        cg_entry=CG_ENTRY * rate.sparse_entry,
        factor=FACTOR * here.flop,
        call=STEP_CALLS * here.call,
    )


def entry_of(dense: bool) -> float:
    """Seconds of a multiplication and addition with an entry of the data."""
    return prices().entry if dense else prices().sparse_entry
