"""The clock: one forked process a contender, so that none can hang, crash or slow the others.

A contender is swept from loose to tight; each setting is run once, then the settings that count
(the fastest that reach an accuracy) are repeated and their median is kept.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from race_peers import Peer, Run, toy_of
from race_problems import Instance

ACCURACIES = (1e-3, 1e-6, 1e-9)
WARM_UP_SECONDS = 300.0  # loading or compiling kernels is not part of the race ...
FIRST_RUN_SECONDS = 20.0  # ... and who compiles nothing has no reason to take longer
TIGHT = 1e-8
Send = Callable[[tuple[Any, ...]], None]
clock: Callable[[], float] = time.perf_counter


@dataclass
class Limits:
    """When to stop waiting: seconds a run, and the best times known so far by accuracy."""

    seconds: float
    best: dict[float, float] = field(default_factory=dict)
    factor: float = 20.0  # times the best: not worth waiting for

    def hopeless(self, accuracy: float) -> float:
        """A run longer than this that has not reached ``accuracy`` cannot matter.

        ``factor`` times the best known; a quarter of that where it would be over a second.
        """
        known = self.best.get(accuracy)
        if known is None:
            return self.seconds
        patient = max(0.05, min(1.0, self.factor * known), 0.25 * self.factor * known)
        return min(self.seconds, patient)

    def kill_after(self) -> float:
        return 1.0 + 1.5 * max(1.0, self.hopeless(ACCURACIES[-1]))


def relative_error(value: float, optimum: float, at_zero: float) -> float:
    """(P(x) - P*) / (P(0) - P*)."""
    return (value - optimum) / (at_zero - optimum)


def timed(run: Run, setting: float) -> tuple[float, np.ndarray]:
    start = clock()
    x = run(setting)
    return clock() - start, x


def by_processor_time() -> None:
    """Count the processor's time from now on: other processes on the machine matter less."""
    global clock
    clock = time.process_time


def repeats_for(seconds: float) -> int:
    """Short runs are hit by bursts of noise as long as themselves: more of them."""
    return 11 if seconds < 0.01 else 5 if seconds < 0.05 else 3


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Peers print warnings and progress from C; the race has its own."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(sink)


def in_child(work: Callable[[Send], None], patience: list[float]) -> Iterator[tuple[Any, ...]]:
    """Run ``work`` in a forked process and yield what it sends.

    ``patience[0]`` is how long the parent waits for the next message (the caller may change it
    between messages); then the child is killed and ("timeout",) is yielded. A failure is yielded
    as ("failed", message).
    """
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)

    def body() -> None:
        try:
            with quiet():
                work(theirs.send)
            theirs.send(("done",))
        except Exception as problem:
            theirs.send(("failed", f"{type(problem).__name__}: {problem}"[:300]))
        finally:
            theirs.close()
            os._exit(0)  # no clean-up of the parent's threads and files

    child = context.Process(target=body)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads
        child.start()
    theirs.close()
    try:
        yield from _listen(mine, child, patience)
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        mine.close()


def _listen(pipe: Any, child: Any, patience: list[float]) -> Iterator[tuple[Any, ...]]:
    while True:
        if not pipe.poll(patience[0]):
            yield ("timeout",)
            return
        try:
            message = pipe.recv()
        except EOFError:
            child.join()
            yield ("failed", f"the process ended with code {child.exitcode}")
            return
        if message[0] == "done":
            return
        yield message
        if message[0] == "failed":
            return


def sweep(
    peer: Peer, one: Instance, optimum: float, limits: Limits, patience: float = WARM_UP_SECONDS
) -> dict[str, Any]:
    """Everything measured about one contender on one problem; ``patience`` is for its warm-up."""
    kept: dict[str, Any] = {"runs": [], "repeats": {}, "status": "ok", "message": ""}
    wait = [patience if peer.warm == "child" else min(patience, FIRST_RUN_SECONDS)]

    def work(send: Send) -> None:
        sweep_in_child(peer, one, optimum, limits, send)

    for message in in_child(work, wait):
        wait[0] = limits.kill_after()
        if message[0] == "run":
            _, setting, seconds, value, note = message
            kept["runs"].append(
                {"setting": setting, "seconds": seconds, "objective": value, "method": note}
            )
        elif message[0] == "repeat":
            kept["repeats"][repr(message[1])] = message[2]
        elif message[0] in ("failed", "timeout"):
            kept["status"], kept["message"] = message[0], (*message, "")[1]
    return kept


def sweep_in_child(peer: Peer, one: Instance, optimum: float, limits: Limits, send: Send) -> None:
    gc.disable()
    if peer.warm == "child":
        peer.prepare(toy_of(one))(TIGHT)
    run = peer.prepare(one)
    if peer.warm == "child":
        run(TIGHT)  # compiles what the toy had no use for
    run(peer.settings[0])  # imports, touches the pages
    send(("warm",))
    found: list[tuple[float, float, float]] = []
    place = 0
    while place < len(peer.settings):
        setting = peer.settings[place]
        seconds, x = timed(run, setting)
        if found and 5.0 * found[-1][1] < seconds < 0.5 * limits.seconds:
            seconds, x = timed(run, setting)  # a kernel may have been compiled or loaded
        error = relative_error(one.objective(x), optimum, one.at_zero)
        found.append((setting, seconds, error))
        send(("run", setting, seconds, one.objective(x), getattr(run, "method", "")))
        ahead = [accuracy for accuracy in ACCURACIES if error > accuracy]
        if not ahead or seconds > limits.hopeless(ahead[0]):
            break
        place += 1 if seconds < 0.3 else 2  # slow runs on every second setting
    for setting, seconds in worth_repeating(found, limits):
        times = [timed(run, setting)[0] for _ in range(repeats_for(seconds))]
        send(("repeat", setting, times))


def worth_repeating(
    found: list[tuple[float, float, float]], limits: Limits
) -> list[tuple[float, float]]:
    """The two fastest settings for each accuracy, unless far behind the best peer there."""
    chosen: dict[float, float] = {}
    for accuracy in ACCURACIES:
        reached = sorted((s, setting) for setting, s, error in found if error <= accuracy)
        for seconds, setting in reached[:2]:
            contends = seconds < 3.0 * limits.best.get(accuracy, np.inf)
            if contends and seconds < limits.seconds / 3.0:
                chosen[setting] = seconds
    return list(chosen.items())


def confirm(
    entries: list[tuple[Peer, float, float]], one: Instance, limit: float
) -> dict[str, list[float]]:
    """Time contenders in turns, so that noise hits all alike; entries: (peer, setting, seconds)."""
    times: dict[str, list[float]] = {}

    def work(send: Send) -> None:
        gc.disable()
        runs = [(peer.name, peer.prepare(one), setting) for peer, setting, _ in entries]
        for _, run, setting in runs:
            run(setting)
        rounds = max(repeats_for(seconds) for _, _, seconds in entries)
        for _ in range(rounds):
            for name, run, setting in runs:
                send(("time", name, timed(run, setting)[0]))

    patience = [WARM_UP_SECONDS]
    for message in in_child(work, patience):
        patience[0] = 2.0 + 3.0 * limit
        if message[0] == "time":
            times.setdefault(message[1], []).append(message[2])
    return times


def time_to(entry: dict[str, Any], accuracy: float, optimum: float, at_zero: float) -> Any:
    """(seconds, setting, method) of the fastest setting that reaches ``accuracy``, or None."""
    reached = []
    for row in entry["runs"]:
        if relative_error(row["objective"], optimum, at_zero) <= accuracy:
            again = entry["repeats"].get(repr(row["setting"]))
            seconds = statistics.median(again) if again else row["seconds"]
            reached.append((seconds, row["setting"], row["method"]))
    return min(reached) if reached else None
