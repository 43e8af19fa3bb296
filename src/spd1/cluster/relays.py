"""Who asks whom, where workers ask each other: a tree whose branches hold neighbouring tiles."""

from __future__ import annotations

from typing import Any

from . import tuning
from .messages import Branch, Failed, Place, Relayed, size_of
from .seats import Seat

__all__ = ["ask_branch", "branches_of"]


def branches_of(seats: list[Seat], places: list[Place]) -> list[tuple[Branch, list[Seat]]]:
    """The branches that the client asks itself, and the holders of each, its head first.

    Neighbours come together, so that a branch adds up most of what it has.
    """
    wanted = set(places)
    mine = {seat.key: sorted(place for place in seat.places if place in wanted) for seat in seats}
    some = sorted((seat for seat in seats if mine[seat.key]), key=lambda seat: mine[seat.key])
    return [(_branch(part, mine), part) for part in _split(some)]


def _split(seats: list[Seat]) -> list[list[Seat]]:
    """Consecutive parts, of about the same length, none of them empty."""
    count = min(tuning.FORK, len(seats))
    ends = [len(seats) * k // count for k in range(count + 1)] if count else [0]
    return [seats[ends[k] : ends[k + 1]] for k in range(count)]


def _branch(seats: list[Seat], mine: dict[str, list[Place]]) -> Branch:
    head, *others = seats
    below = [_branch(part, mine) for part in _split(others)]
    return Branch(head.address, head.key, mine[head.key], below)


def needed(arguments: list[tuple[str, Any]], places: list[Place]) -> list[tuple[str, Any]]:
    """What some tiles need of arguments that are cut."""
    keys = {"down": {p for p, _ in places}, "across": {q for _, q in places}}
    return [
        (how, {k: held[k] for k in keys[how]} if how in keys else held) for how, held in arguments
    ]


async def ask_branch(
    worker: Any, branch: Branch, arguments: list[tuple[str, Any]], function: Any, by_rows: bool,
    count: int,
) -> Relayed | Failed:  # fmt: skip
    """Ask a branch, from a worker; what it was sent and what it answers is counted."""
    from distributed.protocol.serialize import to_serialize

    given = needed(arguments, branch.every())
    message = [branch, function, given, by_rows, count]
    reply = await worker.rpc(branch.address).actor_execute(
        function="relay", actor=branch.key, kwargs={}, args=[to_serialize(one) for one in message]
    )
    if reply["status"] != "OK":
        raise reply["exception"]
    found: Relayed | Failed = reply["result"]
    if isinstance(found, Failed):
        return found
    return found._replace(moved=found.moved + size_of(given) + size_of(found.parts))
