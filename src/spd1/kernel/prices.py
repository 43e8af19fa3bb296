"""What an operation costs on this machine, in seconds: what choices between methods follow from.

Prices are measured once on a machine and kept beside the compiled kernels: every later process
reads them, makes the same choices and comes to the same bits. Where they can't be kept nothing is
measured, and the reference prices hold, for the same reason.

``SPD1_PRICES=reference`` takes the reference prices, ``SPD1_PRICES=file.json`` those of a file:
several machines then choose alike.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba.core.caching import CompileResultCacheImpl

from ..errors import ParameterError
from .shipped import DESTINATION

__all__ = ["REFERENCE", "Prices", "prices", "rates"]

PRICES = "SPD1_PRICES"  # environment
PRICES_VERSION = 1  # of the file: what is measured, and how


class Prices(NamedTuple):
    """Seconds of an operation, one field for each kind that machines differ in.

    The values are those that the tuned numbers of methods were set with: one core of an EPYC of
    2024. A Xeon of 2020 agrees to within a factor of 1.5, and only ratios decide anything.
    """

    entry: float = 2e-10  # a multiplication and addition with a dense entry, in a cache
    far_entry: float = 3e-10  # the same, from memory
    sparse_entry: float = 1.2e-9  # the same with an entry that is found by its index
    scattered_entry: float = 1.5e-9  # the same, added to where an index says
    flop: float = 2.5e-11  # a multiplication and addition in BLAS and LAPACK
    exp: float = 2e-8  # an exponential and a logarithm, one after the other
    page: float = 2.5e-6  # 4 kB of memory, touched for the first time
    call: float = 2e-5  # a few calls from Python, of kernels and NumPy


REFERENCE = Prices()
#: What the stand-ins of ``measure`` take on the machine of the reference prices.
REFERENCE_STAND_INS = Prices(1.25e-10, 2.0e-10, 4.9e-10, 5.1e-10, 3.7e-11, 7.2e-9, 2.5e-6, 6e-7)
PRICE_STEP = 0.5  # prices are the reference times a power of two, in steps of a half: ...
MOST_PRICE_STEPS = 6  # ... at most a factor of eight; beyond, it is taken to be a disturbance


@cache
def prices() -> Prices:
    """The prices of this machine; always the same within a process.

    Raises
    ------
    ParameterError
        If ``SPD1_PRICES`` names a file that has none.
    """
    asked = os.environ.get(PRICES, "")
    if asked == "reference":
        return REFERENCE
    if asked:
        return fixed(Path(asked))
    path = kept_at()
    return REFERENCE if path is None else kept(path)


@cache
def rates() -> Prices:
    """Prices here over the reference prices: what a price that was tuned there is multiplied by."""
    return Prices(*(here / there for here, there in zip(prices(), REFERENCE, strict=True)))


def fixed(path: Path) -> Prices:
    """The prices of a file that the user names."""
    try:
        found = valid(json.loads(path.read_text(encoding="utf-8")).get("prices"))
    except (OSError, ValueError, AttributeError):
        found = None
    if found is None:
        raise ParameterError(
            f"{PRICES}={path} is no file with prices: set it to 'reference' or to a file such as "
            f"""{{"prices": {json.dumps(REFERENCE._asdict())}}}"""
        )
    return found


def kept(path: Path) -> Prices:
    """The prices of a file of ours, measured if it is not there or not what was written.

    Processes that measure at the same time agree on the first file that is there. If none can be
    written, the reference prices hold: the next process could not know what this one had measured.
    """
    found = read(path)
    if found is not None:
        return found
    write(path, measured())
    return read(path) or REFERENCE


def measured() -> Prices:
    """The reference prices, times what stand-ins take here over what they take there.

    In coarse steps: the same machine, measured anew, has the same prices nearly always.
    """
    from .measure import stand_ins

    return rounded(stand_ins())


def rounded(seconds: dict[str, float]) -> Prices:
    """Prices from seconds of stand-ins.

    Examples
    --------
    >>> twice = {name: 2.1 * value for name, value in REFERENCE_STAND_INS._asdict().items()}
    >>> [round(a / b, 3) for a, b in zip(rounded(twice), REFERENCE, strict=True)][:2]
    [2.0, 2.0]
    """

    def factor(taken: float, there: float) -> float:
        if not 0.0 < taken < math.inf:
            return 1.0
        steps = round(math.log2(taken / there) / PRICE_STEP)
        return float(2.0 ** (PRICE_STEP * min(max(steps, -MOST_PRICE_STEPS), MOST_PRICE_STEPS)))

    there = REFERENCE_STAND_INS._asdict()
    factors = {name: factor(seconds.get(name, math.nan), there[name]) for name in there}
    return Prices(**{name: value * factors[name] for name, value in REFERENCE._asdict().items()})


def valid(values: Any) -> Prices | None:
    """Prices from a dictionary of numbers; None unless all are there and make sense."""
    if not isinstance(values, dict) or set(values) != set(Prices._fields):
        return None
    if not all(type(value) in (int, float) for value in values.values()):
        return None
    found, most = Prices(**values), 2.0 ** (PRICE_STEP * MOST_PRICE_STEPS + 0.01)
    sensible = (b / most <= a <= b * most for a, b in zip(found, REFERENCE, strict=True))
    return found if all(sensible) else None


def read(path: Path) -> Prices | None:
    """The prices of a file of ours; None if it is not there or not what was written."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = valid(content["prices"])
        whole = found is not None and content["sum"] == checksum(found)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if whole else None


def write(path: Path, found: Prices) -> None:
    """Write a file that is not there, or replace a damaged one: whole or not at all."""
    content = {"processor": processor(), "prices": found._asdict(), "sum": checksum(found)}
    part = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    with suppress(OSError):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(content, indent=1), encoding="utf-8")
            if path.exists() and read(path) is None:
                os.replace(part, path)
            else:
                os.link(part, path)  # fails where another process was first: its prices hold
        finally:
            with suppress(OSError):
                part.unlink()


def checksum(found: Prices) -> str:
    """Of the numbers, and of what they are about."""
    about = json.dumps([PRICES_VERSION, processor(), list(found)])
    return hashlib.sha256(about.encode()).hexdigest()


@cache
def processor() -> str:
    """Name of the processor, as the system tells it."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
            if not line.strip():
                break  # the first of them has no such name
    return platform.processor() or platform.machine()


def kept_at() -> Path | None:
    """The file of this processor, beside the kernels of this folder; None where none can be."""
    if os.environ.get(DESTINATION):
        return None  # those of another machine
    try:
        folder = CompileResultCacheImpl(prices.__wrapped__).locator.get_cache_path()
    except (RuntimeError, OSError):
        return None
    short = hashlib.sha256(f"{PRICES_VERSION} {processor()}".encode()).hexdigest()[:16]
    return Path(folder, f"prices-{short}.json")
