"""Tasks on several processes; the data is on disk once and mapped by all of them."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..io import read_data
from ..problem import Problem
from ..regularizers import L2
from .runs import run_method
from .store import Store

__all__ = ["Pool", "run_task", "timed_task"]

Report = Callable[[str, int, int], None]


class Pool:
    """Runs tasks, those already in the store not again.

    A task is a dict that JSON can hold, with ``data`` naming a file of the scratch folder. Use it
    in a ``with`` statement, which ends the processes.
    """

    def __init__(self, store: Store, scratch: Path, jobs: int, report: Report) -> None:
        self.store, self.scratch, self.jobs, self.report = store, scratch, jobs, report
        self.workers: ProcessPoolExecutor | None = None  # started when first needed

    def run(self, label: str, tasks: list[dict[str, Any]]) -> list[Any]:
        """Results in the order of the tasks."""
        results = [self.store.get(task) for task in tasks]
        todo = [k for k, result in enumerate(results) if result is None]
        done = len(tasks) - len(todo)
        self.report(label, done, len(tasks))
        for k, (result, processor) in self._finished(tasks, todo):
            results[k] = result
            self.store.put(tasks[k], result, processor)
            done += 1
            self.report(label, done, len(tasks))
        return results

    def _finished(
        self, tasks: list[dict[str, Any]], todo: list[int]
    ) -> Iterator[tuple[int, tuple[Any, float]]]:
        """Results as they come, each as soon as it is there."""
        folder = str(self.scratch)
        if self.jobs <= 1 or (len(todo) <= 1 and self.workers is None):
            for k in todo:
                yield k, timed_task(folder, tasks[k])
            return
        if self.workers is None:
            context = multiprocessing.get_context("spawn")  # threads must not be copied
            self.workers = ProcessPoolExecutor(self.jobs, context, initializer=_quiet)
        try:
            pending = {self.workers.submit(timed_task, folder, tasks[k]): k for k in todo}
            for future in as_completed(pending):
                yield pending[future], future.result()
        except BaseException:
            self.workers.shutdown(wait=False, cancel_futures=True)
            self.workers = None
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self.workers is not None:
            self.workers.shutdown()
            self.workers = None


def _quiet() -> None:
    """One thread a process, no messages from it, Ctrl-C left to the parent."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["SPD1_QUIET"] = "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


@lru_cache(maxsize=1)
def load_problem(path: str, loss: str, l2: float) -> Problem:
    """A problem on a scratch file; the last one is kept."""
    data = read_data(path)
    return Problem(data.A, data.b, loss, L2(l2))


def timed_task(folder: str, task: dict[str, Any]) -> tuple[Any, float]:
    """Do one task; also say how much processor time it took, compiling and all."""
    began = time.process_time()
    result = run_task(folder, task)
    return result, time.process_time() - began


def run_task(folder: str, task: dict[str, Any]) -> Any:
    """Do one task: find the optimum, or the units of steps, or run a method."""
    problem = load_problem(str(Path(folder) / f"{task['data']}.npz"), task["loss"], task["l2"])
    if task["kind"] == "optimum":
        from .optimum import find_optimum

        return find_optimum(problem)
    if task["kind"] == "units":
        from .grids import units

        return units(problem)
    curve = run_method(
        problem, task["method"], task["steps"], task["seed"], task["horizon"], task["sampling"]
    )
    return curve.to_lists()
