"""The workers of a cluster that hold tiles: who has which, messages to them, and what if one dies.

Tiles never change, and every operation is a function of a tile and of what comes with the message.
So a worker that is gone costs time alone: its tiles are made again elsewhere, from the lineage of
the array or from the store, and what it was asked for is asked again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from ..errors import ClusterError, DataError
from ..version import __version__
from . import tuning
from .holder import Failed, Holder, Note, Place
from .seats import Seat, Source, Traffic, size_of

__all__ = ["Team"]

logger = logging.getLogger("spd1.cluster")
RESUME = "if the run had a checkpoint, start it again: it goes on from there"


class LostError(Exception):
    """A worker does not answer any more."""


class Team:
    """Holders of all tiles of some data.

    Parameters
    ----------
    client : distributed.Client
    source : Source
    limit : float, optional
        Seconds that any wait takes at most.
    """

    def __init__(self, client: Any, source: Source, limit: float | None = None) -> None:
        if client.asynchronous:
            raise ClusterError(
                "the client is asynchronous: pass one made without asynchronous=True"
            )
        self.client, self.source = client, source
        self.limit = tuning.LONGEST_WAIT if limit is None else limit
        self.name = uuid4().hex[:8]
        self.seats: list[Seat] = []
        self.home: dict[Place, Seat] = {}
        self.gone: set[str] = set()  # addresses; a worker that comes back has another one
        self.losses = self.strikes = 0
        self.notes: dict[Place, Note] = {}
        self.traffic = Traffic()
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

    async def _present(self) -> dict[str, int]:
        return dict(await self._asked(self.client.scheduler.ncores()))

    async def _asked(self, question: Any) -> Any:
        """What the scheduler answers, within the limit."""
        try:
            return await asyncio.wait_for(question, self.limit)
        except (TimeoutError, OSError) as error:
            raise ClusterError(f"the scheduler does not answer ({error!r}): {RESUME}") from None

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
        missing = places
        while missing:
            mine: dict[int, list[Place]] = {}
            for place in missing:
                mine.setdefault(self.seats.index(self.home[place]), []).append(place)
            asked = [(self.seats[k], function, message(self.seats[k], mine[k])) for k in mine]
            asked_places = list(mine.values())
            lost: list[Seat] = []
            for (seat, _, _), some, reply in zip(
                asked, asked_places, self._replies(asked), strict=True
            ):
                if isinstance(reply, LostError):
                    lost.append(seat)
                elif isinstance(reply, Failed):
                    raise reply.error
                else:
                    found.update(zip(some, reply, strict=True))
            orphans = [place for seat in lost if self._gone(seat) for place in self._leave(seat)]
            self.settle(orphans)
            missing = [place for place in missing if place not in found]
        return found

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

    def _replies(self, asked: list[tuple[Seat, str, tuple[Any, ...]]]) -> list[Any]:
        self.traffic.rounds += 1
        self.traffic.messages += len(asked)
        self.traffic.sent += sum(size_of(arguments) for _, _, arguments in asked)
        replies: list[Any] = self.client.sync(self._together, asked)
        self.traffic.received += size_of(replies)
        return replies

    async def _together(self, asked: list[tuple[Seat, str, tuple[Any, ...]]]) -> list[Any]:
        """All replies; ``LostError`` in the place of those that will not come."""
        waiting = [asyncio.ensure_future(self._call(*one)) for one in asked]
        began, open_ = time.monotonic(), set(waiting)
        while open_:
            _, open_ = await asyncio.wait(open_, timeout=tuning.QUIET)
            if not open_:
                break
            present = await self._present()
            late = time.monotonic() - began > self.limit
            for (seat, function, _), task in zip(asked, waiting, strict=True):
                if task in open_ and (late or seat.address not in present):
                    task.cancel()
                    open_.discard(task)
                    if late:
                        raise ClusterError(
                            f"{seat.address} did not answer ({function}) within "
                            f"{self.limit:.0f} s: is it stopped, or out of memory? {RESUME}"
                        )
        return [LostError() if task.cancelled() or not task.done() else task.result()
                for task in waiting]  # fmt: skip

    async def _call(self, seat: Seat, function: str, arguments: tuple[Any, ...]) -> Any:
        from distributed.protocol.serialize import to_serialize

        message = {
            "function": function, "actor": seat.key, "kwargs": {},
            "args": [to_serialize(argument) for argument in arguments],
        }  # fmt: skip
        try:
            reply = await self._rpc(seat.address).actor_execute(**message)
        except (OSError, KeyError):  # no connection; or another worker under its address
            return LostError()
        if reply["status"] != "OK":
            if isinstance(reply["exception"], RuntimeError):  # holders raise nothing of their own:
                return LostError()  # the worker is closing, and its threads are gone already
            raise reply["exception"]
        return reply["result"]

    def _rpc(self, address: str) -> Any:
        if self.client.direct_to_workers is False:  # said so by its maker: through the scheduler
            from distributed.actor import ProxyRPC

            return ProxyRPC(self.client.scheduler, address)
        return self.client.rpc(address)
