"""Runs that survive: what ``solve(..., checkpoint=path)`` writes, and what goes on from it.

A file holds all that the rest of the run depends on (see ``snapshot``), and what the run is about
(see ``fingerprint``). It is written between epochs, where a method stands still.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np

from ..archive import check_place, read_archive, write_archive
from ..data.facts import Facts
from ..engines.ledger import Ledger
from ..errors import DataError, IncompatibleError, ParameterError
from ..kernel.jit import clock
from ..kernel.patience import SIGNALS
from ..problem import Problem
from ..version import __version__
from .fingerprint import data_arrays, differences, fingerprint
from .snapshot import Frozen, Given, freeze, thaw

__all__ = ["Keeper", "listening"]

CHECKPOINT_VERSION = 1
COUNTED = ("entries", "products", "paper_passes", "seconds")
COMPANIONS = ("by_rows", "by_columns")  # the data in the other order


class Keeper:
    """Keeps one run in a file.

    Parameters
    ----------
    path : str or Path
    every : float
        Seconds between two writings.
    problem : Problem
        Watched by the ledger.
    ledger : Ledger
    settings : dict
        Arguments of ``solve`` that a run which goes on must share.
    limits : dict
        Those that it need not share.
    others : dict, optional
        Objects by name that every process has of its own, beside problem and ledger.

    Attributes
    ----------
    status : str
        Of a run that was read: why it had ended, or "" if it had not.
    changed : bool
        Whether its limits were others.
    """

    def __init__(
        self,
        path: Any,
        every: Any,
        problem: Problem,
        ledger: Ledger,
        settings: dict[str, Any],
        limits: dict[str, Any],
        others: dict[str, Any] | None = None,
    ) -> None:
        number = isinstance(every, (int, float, np.number)) and not isinstance(every, bool)
        if not number or not every >= 0:
            raise ParameterError(f"every must be a number of seconds, not negative, got {every!r}")
        self.path, self.every = check_place(path, "checkpoint"), float(every)
        self.problem, self.ledger, self.settings, self.limits = problem, ledger, settings, limits
        self.others = others or {}
        self.status, self.changed = "", False
        self.written = clock()
        self.noted: list[int] = []
        self.handlers: dict[int, Any] = {}
        ledger.whole_epochs = True

    # What the run is about

    @cached_property
    def words(self) -> dict[str, str]:
        """The fingerprint; the data is read once for it."""
        return fingerprint(self.problem, self.settings)

    @property
    def given(self) -> Given:
        """What the next process has without a checkpoint."""
        p, grid = self.problem, self.problem.grid
        objects = {
            "problem": p, "grid": grid, "ledger": self.ledger, "loss": p.loss, "reg": p.reg,
            "net": p.net, "facts": p.facts, "facts of the grid": grid.facts, **self.others,
        }  # fmt: skip
        arrays = data_arrays(grid) | {"labels": p.b, "weights": p.c}
        for name in COMPANIONS:
            if name in grid.facts.charged:  # the run has them, so the next one makes them
                arrays |= {f"{name} {k}": v for k, v in data_arrays(getattr(grid, name)).items()}
        return Given(objects, arrays)

    # Writing

    def pause(self, part: Any, status: str = "") -> None:
        """Between epochs: write if it is time, or the end, and let a signal that was noted act."""
        if status or self.noted or clock() - self.written >= self.every:
            self.write(part, status)
        if self.noted:
            self.act()

    def write(self, part: Any, status: str = "") -> None:
        """Keep where a run stands; a status says that it has ended there."""
        p = self.problem
        found = {
            name: value
            for name, value in vars(p).items()
            if isinstance(getattr(type(p), name, None), cached_property)
        }
        root = {"part": part, "found": found, "notes": p.notes}
        nodes, arrays = freeze(root, self.given)
        about = {
            "spd1": __version__,
            "fingerprint": self.words,
            "limits": self.limits,
            "status": status,
            "counts": {name: float(getattr(self.ledger, name)) for name in COUNTED},
            "elapsed": clock() - self.ledger.started,
            "facts": [paid(p.facts), paid(p.grid.facts)],
            "nodes": nodes,
        }
        write_archive(self.path, "checkpoint", CHECKPOINT_VERSION, about, arrays)
        self.written = clock()

    # Reading

    def read(self) -> Any:
        """Where the run stood, or None if there is no file; the ledger goes on from there."""
        if not self.path.exists():
            return None
        about, arrays = read_archive(self.path, "checkpoint", CHECKPOINT_VERSION)
        try:
            self.refuse_others(about)
            self.settle_facts(about["facts"])
            root = thaw(Frozen(about["nodes"], arrays), self.given)
            self.status, self.changed = about["status"], about["limits"] != self.limits
            self.settle(about, root)
            return root["part"]
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{self.path} is damaged: it lacks or garbles {error}") from None
        except DataError as error:
            raise DataError(f"{self.path} is damaged: {error}") from None

    def refuse_others(self, about: dict[str, Any]) -> None:
        """Refuse a run of other data or settings, or of another version of the package."""
        if about["spd1"] != __version__:
            raise IncompatibleError(
                f"{self.path} was written by spd1 {about['spd1']}, and this is {__version__}: "
                "finish the run with that version, or name another file"
            )
        other = differences(about["fingerprint"], self.words)
        if other:
            raise IncompatibleError(
                f"{self.path} is a checkpoint of another run. What differs: {'; '.join(other)}. "
                "Name another file, or remove this one to begin anew"
            )

    def settle_facts(self, costs: list[dict[str, float]]) -> None:
        """Let the problem know what the run has paid for."""
        for facts, known in zip((self.problem.facts, self.problem.grid.facts), costs, strict=True):
            facts.paid = {str(name): float(cost) for name, cost in known.items()}
            facts.charged = set(facts.paid)

    def settle(self, about: dict[str, Any], root: dict[str, Any]) -> None:
        """Let problem and ledger know what they knew; whatever was read to get here is free."""
        vars(self.problem).update(root["found"])
        self.problem.notes.update(root["notes"])
        for name in COUNTED:
            setattr(self.ledger, name, float(about["counts"][name]))
        self.ledger.started = clock() - float(about["elapsed"])

    # Signals

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Put Ctrl-C and SIGTERM off until the next pause; the second one acts at once."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if handler is not None and handler is not signal.SIG_IGN:
                    self.handlers[number] = handler
                    signal.signal(number, self.note)
        try:
            yield
        finally:
            self.leave_signals()
            if self.noted:  # after the last pause
                self.act()

    def note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.noted.append(number)
        if len(self.noted) > 1:
            self.act()

    def leave_signals(self) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def act(self) -> None:
        """Let a signal do what it would have done."""
        number, self.noted = self.noted[-1], []
        handler = self.handlers[number]
        if callable(handler):
            handler(number, None)
        else:
            self.leave_signals()
            os.kill(os.getpid(), number)


def paid(facts: Facts) -> dict[str, float]:
    """Facts that a run has paid for, and what they cost."""
    return {name: facts.cost(name) for name in facts.charged}


def listening(keeper: Keeper | None) -> AbstractContextManager[None]:
    """The same for a run that may have no keeper."""
    return nullcontext() if keeper is None else keeper.listening()
