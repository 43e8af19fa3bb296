"""How much is run: everything that ``--quick`` changes, in one place."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FULL", "LONG", "NAMES", "QUICK", "TARGETS", "Settings"]

TARGETS = ("figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "table1", "table2")

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
    targets : tuple of str
        What "all" means.
    tries, most_tries : int
        Step sizes tried for every tuned method alike, by the rule of ``grids``: at least its
        coarse ones; up to ``most_tries`` while a method of the panel has its best at the edge.
    horizons : dict
        Panel -> passes, in the paper's count: of every try and of every curve that is shown.
    tuning_seed, seeds : int and tuple
        Steps are chosen with one seed and shown with the others.
    draws : int
        How many times the synthetic data is drawn. Steps are chosen on the first draw.
    gisette_rows : int
        At most so many rows of the gisette panel, at equal distances, and columns at the same
        distances. Tables have all of it, but for those of a quick run.
    wide : tuple of int
        Rows and columns of the panel d10000.
    uniform_entries : int
        At most so many entries, zeros too, in the part of sparse data that uniform draws get.
    dense_part : bool
        Whether that part is stored with its zeros, as the paper's data was.
    optimum : str
        The method that finds P*.
    theorem_passes : int
        The longest run of figure 5.
    seconds : float
        Time limit of a run of figure 4.
    note : str
        What is left out, for those who read the report.
    """

    name: str
    targets: tuple[str, ...]
    tries: int
    most_tries: int
    horizons: dict[str, int]
    tuning_seed: int
    seeds: tuple[int, ...]
    draws: int
    gisette_rows: int
    wide: tuple[int, int]
    uniform_entries: int
    dense_part: bool
    optimum: str
    theorem_passes: int
    seconds: float
    note: str = ""


# What the paper shows, and its theorems. What is ours (draws of non-zeros, figures 4 and 6) is left
# out, and so is every kernel that can be spared: compiling takes most of the time. Hence one method
# for P*, and no sparse data.
QUICK = Settings(
    name="quick",
    targets=("figure1", "figure2", "figure3", "figure5", "table1", "table2"),
    tries=6,
    most_tries=6,
    horizons={"d100": 20, "d1000": 6, "d10000": 6, "colon": 24, "gisette": 8, "rcv1-uniform": 6},
    tuning_seed=0,
    seeds=(1, 2, 3),
    draws=1,
    gisette_rows=600,
    wide=(200, 2000),
    uniform_entries=300_000,
    dense_part=True,
    optimum="newton",
    theorem_passes=1000,
    seconds=0.3,
    note="A sketch. It has fewer passes, tries, seeds and draws of the data, 200 x 2000 instead of "
    "1000 x 10000, one row and column in ten of gisette, and little of the sparse data. It leaves "
    "out what is not the paper's: draws of non-zeros, and Figures 4 and 6 unless they are asked "
    "for by name.",
)  # fmt: skip
FULL = Settings(
    name="full",
    targets=TARGETS,
    tries=12,
    most_tries=24,
    horizons={"d100": 60, "d1000": 60, "d10000": 10, "colon": 60, "gisette": 8, "rcv1": 12,
              "rcv1-uniform": 10},
    tuning_seed=0,
    seeds=(1, 2, 3, 4, 5),
    draws=2,
    gisette_rows=3000,
    wide=(1000, 10_000),
    uniform_entries=4_000_000,
    dense_part=False,
    optimum="auto",
    theorem_passes=3000,
    seconds=3.0,
)  # fmt: skip
# All of gisette, five times as much of rcv1 for uniform draws, more passes: hours.
LONG = FULL._replace(
    name="long",
    horizons={"d100": 60, "d1000": 60, "d10000": 20, "colon": 60, "gisette": 12, "rcv1": 30,
              "rcv1-uniform": 16},
    gisette_rows=6000,
    uniform_entries=20_000_000,
    seconds=10.0,
)  # fmt: skip
