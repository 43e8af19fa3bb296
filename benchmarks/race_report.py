"""Tables and the picture of the race, from the kept measurements alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from race_reference import Reference
from race_store import Record, Store, write_json
from race_timing import ACCURACIES

Times = dict[str, tuple[float, float, str]]  # solver: (seconds, setting, method)


@dataclass
class Cell:
    """One problem at one accuracy."""

    peers: Times
    ours: tuple[float, float, str] | None
    trusted: bool
    measured: bool  # whether spd1 has been run at all

    @property
    def best_peer(self) -> tuple[str, float] | None:
        if not self.peers:
            return None
        name = min(self.peers, key=lambda one: self.peers[one][0])
        return name, self.peers[name][0]

    @property
    def ratio(self) -> float | None:
        """Best peer's time / ours: 0 where only they get there, infinite where only we do."""
        if not self.measured:
            return None
        if self.best_peer is None:
            return None if self.ours is None else math.inf
        return self.best_peer[1] / self.ours[0] if self.ours else 0.0


def collect(store: Store, problems: list[str], method: str) -> dict[str, dict[float, Cell]]:
    """Every problem that has been measured, by name and accuracy."""
    table = {}
    for problem in problems:
        peers, ours = store.peers(problem), store.ours(method, problem)
        best = store.optimum_of(peers) or store.optimum_of(ours)
        if best is not None and (peers.solvers or ours.solvers):
            table[problem] = {
                accuracy: cell(peers, ours, best, accuracy) for accuracy in ACCURACIES
            }
    return table


def cell(peers: Record, ours: Record, best: Reference, accuracy: float) -> Cell:
    mine = ours.times(accuracy, best.value).get("spd1")
    theirs = peers.times(accuracy, best.value) if peers.solvers else {}
    return Cell(theirs, mine, best.gap <= 0.1 * accuracy, bool(ours.solvers))


def milliseconds(seconds: float) -> str:
    ms = 1e3 * seconds
    return f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def peer_column(one: Cell) -> str:
    name, shown = "-", "-"
    if one.best_peer is not None:
        name, shown = one.best_peer[0], milliseconds(one.best_peer[1])
    return f"{name:>22s} {shown + ('' if one.trusted else '?'):>8s}"


def our_column(one: Cell) -> str:
    shown, by = (milliseconds(one.ours[0]), one.ours[2]) if one.ours else ("-", "")
    ratio = "-" if one.ratio is None else f"{one.ratio:.2f}"
    return f"{shown:>8s} {by[:10]:<10s} {ratio:>6s}"


def table_lines(table: dict[str, dict[float, Cell]], with_ours: bool) -> list[str]:
    width = max(map(len, table), default=10)
    head = f"{'problem':{width}s}"
    for accuracy in ACCURACIES:
        head += f" | {f'best peer, ms to {accuracy:.0e}':>31s}"
        head += f" {'spd1 ms':>8s} {'method':10s} {'ratio':>6s}" if with_ours else ""
    lines = [head, "-" * len(head)]
    for problem, cells in table.items():
        line = f"{problem:{width}s}"
        for accuracy in ACCURACIES:
            line += f" | {peer_column(cells[accuracy])}"
            line += f" {our_column(cells[accuracy])}" if with_ours else ""
        lines.append(line)
    return lines


def summary(cells: Iterable[Cell]) -> dict[str, Any]:
    """Ratios of a column: mean where both get there, shares over all that anyone solves."""
    ratios = [one.ratio for one in cells if one.ratio is not None]
    both = [ratio for ratio in ratios if 0.0 < ratio < math.inf]
    mean = math.exp(sum(map(math.log, both)) / len(both)) if both else None
    count = max(len(ratios), 1)
    return {
        "problems": len(ratios),
        "geometric_mean": mean,
        "share_0.9": sum(ratio >= 0.9 for ratio in ratios) / count,
        "share_1": sum(ratio >= 1.0 for ratio in ratios) / count,
        "not_reached": sum(ratio == 0.0 for ratio in ratios),
    }


def summary_lines(table: dict[str, dict[float, Cell]]) -> tuple[list[str], dict[str, Any]]:
    columns: dict[str, list[Cell]] = {
        f"{accuracy:.0e}": [cells[accuracy] for cells in table.values()] for accuracy in ACCURACIES
    }
    columns["overall"] = [one for part in columns.values() for one in part]
    lines, found = [], {}
    for name, cells in columns.items():
        found[name] = s = summary(cells)
        mean = "-" if s["geometric_mean"] is None else f"{s['geometric_mean']:.2f}"
        lines.append(
            f"{name:8s} best peer / spd1: geometric mean {mean}; >= 0.9 in {s['share_0.9']:.0%}, "
            f">= 1 in {s['share_1']:.0%} of {s['problems']}; not reached in {s['not_reached']}"
        )
    return lines, found


def profile(
    table: dict[str, dict[float, Cell]], accuracy: float, factors: list[float]
) -> dict[str, list[float]]:
    """Share of problems each solver solves within a factor of the fastest solver there."""
    within: dict[str, list[float]] = {}
    rows = [cells[accuracy] for cells in table.values()]
    for one in rows:
        times = {name: found[0] for name, found in one.peers.items()}
        if one.ours is not None:
            times["spd1"] = one.ours[0]
        for name, seconds in times.items():
            counts = within.setdefault(name, [0.0] * len(factors))
            slower = seconds / min(times.values())
            for k, factor in enumerate(factors):
                counts[k] += (slower <= factor) / len(rows)
    return within


def draw(table: dict[str, dict[float, Cell]], path: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    factors = [10.0 ** (k / 50.0) for k in range(101)]
    curves = {accuracy: profile(table, accuracy, factors) for accuracy in ACCURACIES}
    names = sorted({name for part in curves.values() for name in part} - {"spd1"})
    packages = sorted({name.split("-")[0] for name in names})
    styles, used = ["-", "--", ":", "-."], dict.fromkeys(packages, 0)
    look: dict[str, dict[str, Any]] = {"spd1": {"color": "black", "lw": 2.5}}
    for name in names:
        package = name.split("-")[0]
        color = plt.get_cmap("tab10")(packages.index(package) % 10)
        look[name] = {"color": color, "ls": styles[used[package] % 4], "lw": 1.0}
        used[package] += 1
    figure, panels = plt.subplots(1, len(ACCURACIES), figsize=(15, 5.5), sharey=True)
    for panel, accuracy in zip(panels, ACCURACIES, strict=True):
        for name in [*names, "spd1"]:
            if name in curves[accuracy]:
                panel.plot(factors, curves[accuracy][name], label=name, **look[name])
        panel.set(xscale="log", xlabel="factor of the fastest time", title=f"to {accuracy:.0e}")
        panel.set(xlim=(1, factors[-1]), ylim=(0, 1))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel(f"share of {len(table)} problems solved")
    handles = {h.get_label(): h for panel in panels for h in panel.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="center right", fontsize=7)
    figure.tight_layout(rect=(0, 0, 0.86, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def report(store: Store, problems: list[str], method: str) -> None:
    """Print the table, keep it beside the JSON of every run, and draw the profiles."""
    table = collect(store, problems, method)
    if not table:
        print("nothing measured yet")
        return
    peers = table_lines(table, with_ours=False)
    lines = table_lines(table, with_ours=True)
    means, found = summary_lines(table)
    lines += ["", *means]
    print("\n".join(lines))
    (store.out / f"table-{method}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (store.out / "peers.txt").write_text("\n".join(peers) + "\n", encoding="utf-8")
    rows = []
    for problem in table:
        for record in (store.peers(problem), store.ours(method, problem)):
            best = store.optimum_of(record)
            rows += record.rows(best.value) if best is not None else []
    write_json(store.out / f"race-{method}.json", {"summary": found, "runs": rows})
    try:
        draw(table, store.out / f"race-{method}.png")
    except ImportError:
        print("no picture: matplotlib is not installed")
