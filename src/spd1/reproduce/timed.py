"""What is timed, one run at a time: figure 4 and table 2."""

from __future__ import annotations

import time
from typing import Any

from . import figure4, table2
from .problems import Panel, Source, make_problem
from .settings import Settings
from .store import Store
from .talk import Talk

__all__ = ["timed_passes", "timed_runs"]


def timed_runs(
    panel: Panel, source: Source, settings: Settings, talk: Talk, store: Store
) -> dict[str, Any]:
    """Figure 4's runs on one panel."""
    found = {}
    for name in figure4.CONTENDERS:
        task = {"kind": "timed-run", "data": panel.key, "name": panel.data, "method": name,
                "loss": panel.loss, "l2": panel.l2, "limit": settings.seconds}  # fmt: skip
        found[name] = store.get(task)
        if found[name] is None:
            talk.say(f"{panel.label}: {name}, timed alone")
            began = time.process_time()
            problem = make_problem(panel, source.A, source.b)
            found[name] = figure4.measure(problem, name, settings.seconds)
            store.put(task, found[name], time.process_time() - began)
    return found


def timed_passes(panel: Panel, source: Source, talk: Talk, store: Store) -> dict[str, Any]:
    """Table 2's row of one data set."""
    task = {"kind": "timed-pass", "data": panel.key, "name": panel.data, "l2": panel.l2}
    found = store.get(task)
    if found is None:
        began = time.process_time()
        problem = make_problem(panel, source.A, source.b)
        found = {}
        for label in table2.METHODS_TIMED:
            talk.say(f"{panel.label}: a pass of {label}, timed alone")
            found[label] = table2.seconds_a_pass(problem, label)
        store.put(task, found, time.process_time() - began)
    return {"panel": panel.key, "data": panel.title.partition("\n")[0], **found}
