"""How much is run: everything that ``--quick`` changes, in one place."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FULL", "LONG", "NAMES", "QUICK", "Settings"]

#: Method -> label in figures, in the paper's order.
NAMES = {
    "psgd": "PSGD",
    "spd1": "SPD1",
    "svrg": "SVRG",
    "saga": "SAGA",
    "spd1-vr": "SPD1-VR",
}


class Settings(NamedTuple):
    """One way to run.

    Attributes
    ----------
    name : str
    tries, most_tries : int
        Step sizes tried for every tuned method alike, by the rule of ``grids``: at least its
        coarse ones; up to ``most_tries`` while a method of the panel has its best at the edge.
    horizons : dict
        Panel -> passes, in the paper's count: of every try and of every curve that is shown.
    tuning_seed, seeds : int and tuple
        Steps are chosen with one seed and shown with the others.
    draws : int
        How many times the synthetic data is drawn. Steps are chosen on the first draw.
    thin : int
        Take one in so many rows and columns of the gisette panel. Tables have all of it, but for
        those of a quick run.
    wide : tuple of int
        Rows and columns of the panel d10000.
    uniform_entries : int
        At most so many entries, zeros too, in the part of sparse data that uniform draws get.
    seconds : float
        Time limit of a run of figure 4.
    """

    name: str
    tries: int
    most_tries: int
    horizons: dict[str, int]
    tuning_seed: int
    seeds: tuple[int, ...]
    draws: int
    thin: int
    wide: tuple[int, int]
    uniform_entries: int
    seconds: float


# Without draws of non-zeros, which are ours: their kernels take long to compile.
QUICK = Settings(
    name="quick",
    tries=6,
    most_tries=6,
    horizons={"d100": 20, "d1000": 6, "d10000": 6, "colon": 24, "gisette": 8, "rcv1-uniform": 6},
    tuning_seed=0,
    seeds=(1, 2, 3),
    draws=1,
    thin=10,
    wide=(200, 2000),
    uniform_entries=300_000,
    seconds=0.3,
)  # fmt: skip
FULL = Settings(
    name="full",
    tries=12,
    most_tries=24,
    horizons={"d100": 60, "d1000": 60, "d10000": 10, "colon": 60, "gisette": 8, "rcv1": 12,
              "rcv1-uniform": 10},
    tuning_seed=0,
    seeds=(1, 2, 3, 4, 5),
    draws=2,
    thin=2,
    wide=(1000, 10_000),
    uniform_entries=4_000_000,
    seconds=3.0,
)  # fmt: skip
# All of gisette, five times as much of rcv1 for uniform draws, more passes: hours.
LONG = FULL._replace(
    name="long",
    horizons={"d100": 60, "d1000": 60, "d10000": 20, "colon": 60, "gisette": 12, "rcv1": 30,
              "rcv1-uniform": 16},
    thin=1,
    uniform_entries=20_000_000,
    seconds=10.0,
)  # fmt: skip
