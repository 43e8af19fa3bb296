"""Tasks on several processes; the data is on disk once and mapped by all of them."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..io import read_data
from ..problem import Problem
from ..regularizers import L2
from .runs import run_method
from .store import Store
from .talk import Talk

__all__ = ["Job", "Pool", "run_task", "timed_task"]


class Job(NamedTuple):
    """A task, what to call it, and roughly the seconds it takes."""

    task: dict[str, Any]
    label: str
    work: float = 0.0


class Pool:
    """Runs tasks, those already in the store not again.

    A task is a dict that JSON can hold, with ``data`` naming a file of the scratch folder. Use it
    in a ``with`` statement, which ends the processes.
    """

    def __init__(self, store: Store, scratch: Path, jobs: int, talk: Talk) -> None:
        self.store, self.scratch, self.jobs, self.talk = store, scratch, jobs, talk
        self.workers: ProcessPoolExecutor | None = None  # started when first needed
        self.others: list[Any] = []  # children of this process that are not ours

    def run(self, jobs: list[Job]) -> list[Any]:
        """Results in the order of the jobs."""
        results = [self.store.get(job.task) for job in jobs]
        todo = [k for k, result in enumerate(results) if result is None]
        self.talk.skip(sum(job.work for job in jobs) - sum(jobs[k].work for k in todo))
        before = self.talk.seconds
        for k, (result, processor) in self._finished(jobs, todo):
            results[k] = result
            self.store.put(jobs[k].task, result, processor)
            now = self.talk.seconds
            self.talk.done(jobs[k].work, now - before)
            before = now
        return results

    def plan(self, work: float) -> None:
        """Expect so many seconds more than planned."""
        self.talk.planned += work

    def _finished(
        self, jobs: list[Job], todo: list[int]
    ) -> Iterator[tuple[int, tuple[Any, float]]]:
        """Results as they come, each as soon as it is there."""
        folder = str(self.scratch)
        if self.jobs <= 1 or (len(todo) <= 1 and self.workers is None):
            for k in todo:
                self.talk.say(jobs[k].label)
                yield k, timed_task(folder, jobs[k].task)
            return
        if self.workers is None:
            self.others = multiprocessing.active_children()
            context = multiprocessing.get_context("spawn")  # threads must not be copied
            self.workers = ProcessPoolExecutor(self.jobs, context, initializer=_quiet)
        try:
            pending = {self.workers.submit(timed_task, folder, jobs[k].task): k for k in todo}
            if todo:
                more = f", and {len(todo) - 1} more" if len(todo) > 1 else ""
                self.talk.say(f"{jobs[todo[0]].label}{more}")
            for future in as_completed(pending):
                yield pending[future], future.result()
                self.talk.say(f"{jobs[pending[future]].label}: finished")
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """End the processes now: a run may take a minute, and nothing of it would be kept."""
        assert self.workers is not None
        workers, self.workers = self.workers, None
        for process in multiprocessing.active_children():
            if process not in self.others:
                process.terminate()
        # Its own thread waits for them: of two that wait, one may miss the end.
        workers.shutdown(cancel_futures=True)

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

        return find_optimum(problem, task["method"])
    if task["kind"] == "units":
        from .grids import units
        from .readings import textbook_steps

        return units(problem) | {"textbook": textbook_steps(problem)}
    curve = run_method(
        problem, task["method"], task["steps"], task["seed"], task["horizon"], task["sampling"]
    )
    return curve.to_lists()
