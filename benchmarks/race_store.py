"""What the race keeps: one JSON file a problem for the peers, one a problem and method for spd1.

Files are written as soon as a contender is done, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from race_problems import Instance
from race_reference import Reference
from race_timing import relative_error, time_to


def write_json(path: Path, content: Any) -> None:
    """Write beside and rename: a run stopped half-way leaves the old file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1), encoding="utf-8")
    beside.replace(path)


class Record:
    """The measurements of one problem: {"solvers": {name: sweep}, "confirmed": {...}}."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content: dict[str, Any] = {"solvers": {}, "confirmed": {}}
        if path.exists():
            self.content = json.loads(path.read_text(encoding="utf-8"))

    @property
    def solvers(self) -> dict[str, Any]:
        return self.content["solvers"]

    def describe(self, one: Instance) -> None:
        self.content.update(
            problem=one.name, n=one.n, d=one.d, l1=one.l1, l2=one.l2, at_zero=one.at_zero
        )

    def save(self) -> None:
        write_json(self.path, self.content)

    def lowest(self) -> float:
        values = [row["objective"] for entry in self.solvers.values() for row in entry["runs"]]
        return min(values, default=float("inf"))

    def times(self, accuracy: float, optimum: float) -> dict[str, tuple[float, float, str]]:
        """(seconds, setting, method) by solver.

        Contenders are timed twice, some time apart: the quieter of the two medians counts.
        """
        found = {}
        for name, entry in self.solvers.items():
            best = time_to(entry, accuracy, optimum, self.content["at_zero"])
            if best is not None:
                found[name] = best
        for name, seconds in self.content["confirmed"].get(repr(accuracy), {}).items():
            if name in found:
                found[name] = (min(seconds, found[name][0]), *found[name][1:])
        return found

    def rows(self, optimum: float) -> list[dict[str, Any]]:
        """One row a run, as the summary file lists them."""
        zero = self.content.get("at_zero", float("nan"))
        return [
            {
                "problem": self.content["problem"],
                "solver": name,
                "suboptimality": relative_error(row["objective"], optimum, zero),
                **row,
            }
            for name, entry in self.solvers.items()
            for row in entry["runs"]
        ]


class Store:
    """The output folder and the cache of optima."""

    def __init__(self, out: Path, cache: Path) -> None:
        self.out = out
        self.optima_path = cache / "optima.json"
        self.optima: dict[str, Any] = {}
        if self.optima_path.exists():
            self.optima = json.loads(self.optima_path.read_text(encoding="utf-8"))

    def peers(self, problem: str) -> Record:
        return Record(self.out / "peers" / f"{slug(problem)}.json")

    def ours(self, method: str, problem: str) -> Record:
        return Record(self.out / f"spd1-{method}" / f"{slug(problem)}.json")

    def optimum(self, one: Instance) -> Reference | None:
        kept = self.optima.get(optimum_key(one.name, one.l1, one.l2))
        return Reference(**kept) if kept else None

    def keep_optimum(self, one: Instance, found: Reference) -> None:
        if self.optima_path.exists():  # another run may have added to it
            self.optima = json.loads(self.optima_path.read_text(encoding="utf-8"))
        self.optima[optimum_key(one.name, one.l1, one.l2)] = asdict(found)
        write_json(self.optima_path, self.optima)

    def optimum_of(self, record: Record) -> Reference | None:
        """The optimum of a problem whose data is not loaded."""
        kept = record.content
        if "problem" not in kept:
            return None
        found = self.optima.get(optimum_key(kept["problem"], kept["l1"], kept["l2"]))
        return Reference(**found) if found else None


def slug(problem: str) -> str:
    return problem.replace("/", "__").replace("=", "")


def optimum_key(name: str, l1: float, l2: float) -> str:
    return f"{name}|l1={l1:.12g}|l2={l2:.12g}"
