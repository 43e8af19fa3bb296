"""What a pass costs on a cluster, from a model: 10 to 1000 workers, and 10^12 stored entries.

    python benchmarks/cluster_model.py
    python benchmarks/cluster_model.py --rows 1e6 --columns 1e6 --stored 1e9 --bandwidth 1.25e9

A product A x and a product A'w on a P x Q grid, one tile a worker. Work is divided by the workers.
Vectors travel from and to one caller: x_J to the P tiles of column J, sums of Q tiles for each row,
and the same for A'w the other way round: 2 (P d + Q n) numbers a pass through one network card.
"relayed" is what it costs from 32 workers on: everyone asks four others, and adds up what they say.
A worker sends x, or gets sums of A'w, four times at each of log4(P) levels; what belongs to rows is
cut as it goes down, and 4/3 of it travels in all; within a row of tiles the two change places.
"least" is n + d numbers each way through the caller, and the work: no way of ours is faster.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

NUMBER = 8.0  # bytes
FORK = 4  # workers that each asks, see cluster/tuning.py


class Machine(NamedTuple):
    """Seconds of an entry, of a wait and of a message, and bytes a second of a network card."""

    entry: float
    wait: float
    message: float
    bandwidth: float


class Cost(NamedTuple):
    """Seconds of a pass (A x and A'w, each entry read twice) by what they go to."""

    work: float
    wire: float
    waits: float

    @property
    def total(self) -> float:
        return self.work + self.wire + self.waits


def star(n: float, d: float, stored: float, P: int, Q: int, machine: Machine) -> Cost:
    """As it is built: everything through the caller."""
    work = 2.0 * stored * machine.entry / (P * Q)
    wire = 2.0 * NUMBER * (P * d + Q * n) / machine.bandwidth
    return Cost(work, wire, 2.0 * (machine.wait + P * Q * machine.message))


def levels(count: int) -> int:
    """Steps from one to all, everyone asking FORK others."""
    return math.ceil(math.log(count) / math.log(FORK) - 1e-9)


def relayed(n: float, d: float, stored: float, P: int, Q: int, machine: Machine) -> Cost:
    """As it is built for many workers: they ask each other, and add up on the way back."""
    work = 2.0 * stored * machine.entry / (P * Q)
    down, across = levels(P), levels(Q)
    numbers = FORK * (down * d + across * n / P) + 4.0 / 3.0 * (n + d)
    waits = 2.0 * (down + across) * (machine.wait + FORK * machine.message)
    return Cost(work, 2.0 * NUMBER * numbers / machine.bandwidth, waits)


def least(n: float, d: float, stored: float, P: int, Q: int, machine: Machine) -> Cost:
    """The caller sends and gets each vector once."""
    work = 2.0 * stored * machine.entry / (P * Q)
    return Cost(work, 2.0 * NUMBER * (n + d) / machine.bandwidth, 2.0 * machine.wait)


def best_grid(n: float, d: float, stored: float, workers: int, machine: Machine, way: object
              ) -> tuple[int, int, Cost]:  # fmt: skip
    """The cheapest cut with one tile a worker."""
    sides = [P for P in range(1, workers + 1) if workers % P == 0]
    found = [(P, workers // P, way(n, d, stored, P, workers // P, machine)) for P in sides]
    return min(found, key=lambda one: one[2].total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--columns", type=float, default=1e8)
    parser.add_argument("--stored", type=float, default=1e12)
    parser.add_argument("--entry", type=float, default=1.5e-9, help="seconds; sparse")
    parser.add_argument("--wait", type=float, default=2e-3, help="seconds of a round trip")
    parser.add_argument("--message", type=float, default=2e-4, help="seconds the caller spends")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second")
    args = parser.parse_args()
    machine = Machine(args.entry, args.wait, args.message, args.bandwidth)
    shapes = [
        ("gisette-like", 6e3, 5e3, 3e7, 3e-10),
        ("4 GB dense", 1e5, 5e3, 5e8, 3e-10),
        ("10^6 x 10^6", 1e6, 1e6, 1e9, args.entry),
        ("asked for", args.rows, args.columns, args.stored, args.entry),
    ]
    star_says = "star: grid  work s   wire s  waits s  total s"
    print(f"data           workers  {star_says} | relayed: grid  total s | least s")
    for name, n, d, stored, entry in shapes:
        one = 2.0 * stored * entry
        print(f"{name:14s}       1  {'':10s} {one:9.3g}")
        for workers in (2, 10, 20, 30, 100, 300, 1000):
            here = machine._replace(entry=entry)
            P, Q, cost = best_grid(n, d, stored, workers, here, star)
            R, S, other = best_grid(n, d, stored, workers, here, relayed)
            floor = best_grid(n, d, stored, workers, here, least)[2]
            print(
                f"{'':14s} {workers:7d}  {f'{P}x{Q}':10s} {cost.work:9.3g} {cost.wire:8.3g} "
                f"{cost.waits:8.3g} {cost.total:8.3g} | {f'{R}x{S}':13s} {other.total:8.3g} | "
                f"{floor.total:7.3g}"
            )


if __name__ == "__main__":
    main()
