"""How much is run: everything that ``--quick`` changes, in one place."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FULL", "NAMES", "QUICK", "Settings"]

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
    tries : int
        Step sizes tried for every method alike, by the rule of ``grids``: at least its coarse ones.
    horizons : dict
        Panel -> passes, in the paper's count.
    tuning : dict
        Panel -> passes of a try.
    tuning_seed, seeds : int and tuple
        Steps are chosen with one seed and shown with the others.
    thin : int
        Take every so many rows and columns of the gisette panel.
    seconds : float
        Time limit of a run of figure 4.
    """

    name: str
    tries: int
    horizons: dict[str, int]
    tuning: dict[str, int]
    tuning_seed: int
    seeds: tuple[int, ...]
    thin: int
    seconds: float


QUICK = Settings(
    name="quick",
    tries=6,
    horizons={"d100": 30, "d1000": 20, "d10000": 6, "colon": 30, "gisette": 12, "rcv1": 16},
    tuning={"d100": 30, "d1000": 10, "d10000": 4, "colon": 30, "gisette": 6, "rcv1": 16},
    tuning_seed=0,
    seeds=(1, 2, 3),
    thin=5,
    seconds=1.5,
)
FULL = Settings(
    name="full",
    tries=12,
    horizons={"d100": 60, "d1000": 60, "d10000": 20, "colon": 60, "gisette": 12, "rcv1": 30,
              "rcv1-uniform": 8},
    tuning={"d100": 60, "d1000": 30, "d10000": 6, "colon": 60, "gisette": 4, "rcv1": 8,
            "rcv1-uniform": 4},
    tuning_seed=0,
    seeds=(1, 2, 3),
    thin=1,
    seconds=10.0,
)  # fmt: skip
