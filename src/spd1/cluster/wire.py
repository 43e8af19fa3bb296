"""Messages to holders, all at once, and a limit for every wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from ..errors import ClusterError
from . import tuning
from .messages import size_of
from .seats import Seat, Traffic

__all__ = ["RESUME", "LostError", "Wire"]

RESUME = "if the run had a checkpoint, start it again: it goes on from there"


class LostError(Exception):
    """A worker does not answer any more."""


class Wire:
    """A client's line to the scheduler and to holders.

    Parameters
    ----------
    client : distributed.Client
    limit : float, optional
        Seconds that any wait takes at most.
    """

    def __init__(self, client: Any, limit: float | None = None) -> None:
        if client.asynchronous:
            raise ClusterError(
                "the client is asynchronous: pass one made without asynchronous=True"
            )
        self.client = client
        self.limit = tuning.LONGEST_WAIT if limit is None else limit
        self.traffic = Traffic()

    async def _present(self) -> dict[str, int]:
        return dict(await self._asked(self.client.scheduler.ncores()))

    async def _asked(self, question: Any) -> Any:
        """What the scheduler answers, within the limit."""
        try:
            return await asyncio.wait_for(question, self.limit)
        except (TimeoutError, OSError) as error:
            raise ClusterError(f"the scheduler does not answer ({error!r}): {RESUME}") from None

    def _replies(
        self, asked: list[tuple[Seat, str, tuple[Any, ...]]], all_asked: Sequence[Seat] = ()
    ) -> list[Any]:
        """Replies of those asked, who may ask others themselves: ``all_asked`` are those, too."""
        self.traffic.rounds += 1
        self.traffic.messages += len(asked)
        self.traffic.sent += sum(size_of(arguments) for _, _, arguments in asked)
        replies: list[Any] = self.client.sync(self._together, asked, all_asked)
        self.traffic.received += size_of(replies)
        return replies

    async def _together(
        self, asked: list[tuple[Seat, str, tuple[Any, ...]]], all_asked: Sequence[Seat]
    ) -> list[Any]:
        """All replies; ``LostError`` in the place of those that will not come."""
        waiting = [asyncio.ensure_future(self._call(*one)) for one in asked]
        began, open_ = time.monotonic(), set(waiting)
        while open_:
            _, open_ = await asyncio.wait(open_, timeout=tuning.QUIET)
            if not open_:
                break
            present = await self._present()
            late = time.monotonic() - began > self.limit
            broken = any(other.address not in present for other in all_asked)
            for (seat, function, _), task in zip(asked, waiting, strict=True):
                if task in open_ and (late or broken or seat.address not in present):
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
