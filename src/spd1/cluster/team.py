"""The workers of a cluster that hold tiles: who has which, messages to them, and what if one dies.

Tiles never change, and every operation is a function of a tile and of what comes with the message.
So a worker that is gone costs time alone: its tiles are made again elsewhere, from the lineage of
the array or from the store, and what it was asked for is asked again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from ..data.sums import Sums
from ..errors import ClusterError, DataError
from ..version import __version__
from . import tuning
from .holder import Holder
from .messages import BranchError, Failed, Note, Place
from .relays import branches_of
from .seats import Seat, Source
from .wire import RESUME, LostError, Wire

__all__ = ["Team"]

logger = logging.getLogger("spd1.cluster")


class Team(Wire):
    """Holders of all tiles of some data.

    Parameters
    ----------
    client : distributed.Client
    source : Source
    limit : float, optional
        Seconds that any wait takes at most.
    """

    def __init__(self, client: Any, source: Source, limit: float | None = None) -> None:
        super().__init__(client, limit)
        self.source = source
        self.name = uuid4().hex[:8]
        self.seats: list[Seat] = []
        self.home: dict[Place, Seat] = {}
        self.gone: set[str] = set()  # addresses; a worker that comes back has another one
        self.losses = self.strikes = self.breaks = 0
        self.relays = client.direct_to_workers is not False  # whether workers may ask each other
        self.notes: dict[Place, Note] = {}
        self.settle(list(source.chunks))

    def close(self) -> None:
        """Let go of all tiles."""
        for seat in self.seats:
            seat.future.release()
        self.seats, self.home = [], {}

    # Who holds what

    def workers(self) -> dict[str, int]:
        """Addresses and threads of the workers that are there; waits for the first."""
        began = time.monotonic()
        while True:
            found = self.client.sync(self._present)
            alive = {at: count for at, count in sorted(found.items()) if at not in self.gone}
            if alive:
                return alive
            most = min(tuning.FIRST_WORKER, self.limit)
            if time.monotonic() - began > most:
                raise ClusterError(f"no worker came within {most:.0f} s: start some; {RESUME}")
            time.sleep(0.1)

    def settle(self, places: list[Place]) -> None:
        """Find holders for tiles, until every one has one."""
        while places:
            seats = [self._seat(at, some, n) for at, some, n in self._assigned(places)]
            places = []
            for seat in seats:
                try:
                    self._wait(seat)
                    self._introduce(seat)
                except LostError:
                    places += self._leave(seat)

    def _assigned(self, places: list[Place]) -> list[tuple[str, list[Place], int]]:
        """Which worker gets which tiles: where they lie already, else neighbours together."""
        workers = self.workers()
        mine: dict[str, list[Place]] = {at: [] for at in workers}
        there = self._in_memory(places)
        for place in places:
            at = next((at for at in there.get(place, ()) if at in workers), None)
            if at is not None:
                mine[at].append(place)
        others = [place for place in places if not any(place in some for some in mine.values())]
        held = {at: len(some) for at, some in mine.items()}
        for seat in self.seats:
            held[seat.address] = held.get(seat.address, 0) + len(seat.places)
        goal, first = -(-(sum(held.values()) + len(others)) // len(workers)), 0
        for at in sorted(workers, key=lambda at: (held[at], at)):  # the idle first
            some = others[first : first + max(goal - held[at], 0)]
            first += len(some)
            mine[at] = sorted(mine[at] + some)
        return [(at, some, workers[at]) for at, some in mine.items() if some]

    def _in_memory(self, places: list[Place]) -> dict[Place, list[str]]:
        """Where chunks lie that somebody has computed before, such as ``array.persist()``."""
        if not self.source.lazy:
            return {}
        keys = {place: self.source.chunks[place].key for place in places}
        question = self.client.scheduler.who_has(keys=list(keys.values()))
        found = self.client.sync(self._asked, question)
        return {place: list(found.get(key, ())) for place, key in keys.items()}

    def _seat(self, address: str, places: list[Place], n_threads: int) -> Seat:
        chunks: list[Any] = [self.source.chunks[place] for place in places]
        if self.source.lazy:
            chunks = self.client.compute(chunks, workers=[address], allow_other_workers=True)
        key = f"spd1-tiles-{self.name}-{uuid4().hex[:8]}"
        future = self.client.submit(
            Holder, places, chunks, n_threads, actor=True, workers=[address], key=key,
        )  # fmt: skip
        return Seat(address, key, future, places)

    def _wait(self, seat: Seat) -> None:
        """Wait until a holder has its tiles."""
        began = time.monotonic()
        while True:
            try:
                error = seat.future.exception(timeout=tuning.QUIET)
                break
            except TimeoutError:
                if seat.address not in self.client.sync(self._present):
                    raise LostError from None
            if time.monotonic() - began > self.limit:
                raise ClusterError(
                    f"{seat.address} did not get its {len(seat.places)} tiles within "
                    f"{self.limit:.0f} s"
                )
        if seat.future.status == "finished":
            return
        if seat.future.status != "error" or type(error).__name__ == "KilledWorker":
            raise LostError
        raise DataError(f"a chunk of the dask array can't be computed: {error}") from error

    def _introduce(self, seat: Seat) -> None:
        """Look at what a holder found: in good order, or refused by name."""
        [reply] = self._replies([(seat, "introduce", ())])
        if isinstance(reply, LostError):
            raise reply
        version, notes = reply
        if version != __version__:
            raise ClusterError(
                f"{seat.address} has spd1 {version}, and this is {__version__}: install the same"
            )
        for place, note in zip(seat.places, notes, strict=True):
            if note.wrong:
                raise DataError(f"tile {place} of the data: {note.wrong}")
            self.notes[place] = note
            self.home[place] = seat
        self.seats.append(seat)

    def _leave(self, seat: Seat) -> list[Place]:
        """Give a lost holder up; the tiles that it had."""
        self.losses += 1
        if self.losses > tuning.MOST_LOST:
            raise ClusterError(
                f"{self.losses} workers were lost, the last one {seat.address}: perhaps their "
                f"memory is too small for their tiles; {RESUME}"
            )
        logger.warning(
            "worker %s is gone: its %d tiles are made again elsewhere",
            seat.address, len(seat.places),
        )  # fmt: skip
        seat.future.release()
        self.gone.add(seat.address)
        self.seats = [other for other in self.seats if other is not seat]
        return seat.places

    # Messages

    def ask(
        self, places: list[Place], function: str,
        message: Callable[[Seat, list[Place]], tuple[Any, ...]],
    ) -> dict[Place, Any]:  # fmt: skip
        """What holders answer about tiles, one message each; those of lost ones are sent again."""
        found: dict[Place, Any] = {}
        for some, reply in self._answers(places, function, message):
            found.update(zip(some, reply, strict=True))
        return found

    def totals(
        self, places: list[Place], message: Callable[[list[Seat], list[Place]], tuple[Any, ...]],
        by_rows: bool, count: int,
    ) -> Sums:  # fmt: skip
        """What holders answer about tiles, added up over rows or columns of ``count`` tiles.

        From many workers on they ask each other and add up on the way back. If that fails, for
        whatever reason, everybody is asked from here: that survives lost ones.
        """
        sums = Sums(count)
        if self.relays and len(self.seats) >= tuning.RELAYS_FROM:
            if self._relayed(sums, places, message, by_rows):
                return sums
            sums = Sums(count)

        def direct(seat: Seat, some: list[Place]) -> tuple[Any, ...]:
            return some, *message([seat], some), by_rows, count

        for _, reply in self._answers(places, "totals", direct):
            for part, values in reply.items():
                sums.add(part, values)
        return sums

    def _relayed(
        self, sums: Sums, places: list[Place],
        message: Callable[[list[Seat], list[Place]], tuple[Any, ...]], by_rows: bool,
    ) -> bool:  # fmt: skip
        """Ask branches of holders; whether all answers came."""
        heads = branches_of(self.seats, places)
        asked = []
        for head, seats in heads:
            function, arguments = message(seats, head.every())
            asked.append((seats[0], "relay", (head, function, arguments, by_rows, sums.count)))
        replies = self._replies(asked, [seat for _, seats in heads for seat in seats])
        for reply in replies:
            if isinstance(reply, Failed) and not isinstance(reply.error, BranchError):
                raise reply.error
        broken = [one for one in replies if isinstance(one, (LostError, Failed))]
        if broken:
            logger.warning("workers could not ask each other (%s): they are asked directly",
                           getattr(broken[0], "error", "one is gone"))  # fmt: skip
            self.breaks += 1
            self.relays = self.breaks < tuning.MOST_BROKEN
            for seat in self.seats:
                seat.forget()
            return False
        for reply in replies:
            self.traffic.relayed += reply.moved
            for part, values in reply.parts.items():
                sums.add(part, values)
        return True

    def _answers(
        self, places: list[Place], function: str,
        message: Callable[[Seat, list[Place]], tuple[Any, ...]],
    ) -> Iterator[tuple[list[Place], Any]]:  # fmt: skip
        """Which tiles were answered for, and the answer, until there is one for every tile."""
        missing = places
        while missing:
            mine: dict[int, list[Place]] = {}
            for place in missing:
                mine.setdefault(self.seats.index(self.home[place]), []).append(place)
            asked = [(self.seats[k], function, message(self.seats[k], mine[k])) for k in mine]
            asked_places = list(mine.values())
            lost: list[Seat] = []
            answered: set[Place] = set()
            for (seat, _, _), some, reply in zip(
                asked, asked_places, self._replies(asked), strict=True
            ):
                if isinstance(reply, LostError):
                    lost.append(seat)
                elif isinstance(reply, Failed):
                    raise reply.error
                else:
                    answered.update(some)
                    yield some, reply
            orphans = [place for seat in lost if self._gone(seat) for place in self._leave(seat)]
            self.settle(orphans)
            missing = [place for place in missing if place not in answered]

    def _gone(self, seat: Seat) -> bool:
        """Whether a worker that did not answer is gone; else it could not read the message."""
        began = time.monotonic()
        while time.monotonic() - began < tuning.NOTICE:
            if seat.address not in self.client.sync(self._present):
                return True
            time.sleep(0.05)
        [reply] = self._replies([(seat, "introduce", ())])
        if isinstance(reply, LostError):
            return True
        self.strikes += 1
        if self.strikes >= tuning.STRIKES:
            raise ClusterError(
                f"{seat.address} is there but can't take what it is sent: are the modules of your "
                "loss, and the same versions of Python's packages, installed there?"
            )
        seat.forget()  # who knows how far it came
        return False
