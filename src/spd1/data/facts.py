"""What has been found out about data, computed once; every run is charged for what it uses.

Entries read must not depend on who looked at the data before: the same run has the same count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Facts", "Nobody", "Reads"]


class Reads(Protocol):
    """Where entries read are added up: once a visit, however often the visit uses them."""

    entries: float

    @property
    def spent(self) -> bool:
        """Whether no more should be read."""


class Nobody:
    """An account that nobody looks at."""

    entries = 0.0
    spent = False


class Facts:
    """Values by name, each with the entries that were read to find it.

    Examples
    --------
    >>> account, facts = Nobody(), Facts()
    >>> facts.get("answer", account, lambda: 42), facts.view().get("answer", account, None)
    (42, 42)
    """

    def __init__(self, known: dict[str, tuple[Any, float]] | None = None) -> None:
        self.known = {} if known is None else known
        self.charged: set[str] = set()
        self.paid: dict[str, float] = {}  # by an earlier part of a run that goes on

    def view(self) -> Facts:
        """The same values for a run that has paid for none of them."""
        return Facts(self.known)

    def get(self, name: str, ledger: Reads, find: Callable[[], Any] | None) -> Any:
        """The value, found now if nobody has before."""
        if name not in self.known:
            assert find is not None
            before = ledger.entries
            value = find()
            self.known[name] = value, self.paid.get(name, ledger.entries - before)
            if name in self.paid:
                ledger.entries = before
        elif name not in self.charged:
            ledger.entries += self.known[name][1]
        self.charged.add(name)
        return self.known[name][0]

    def cost(self, name: str) -> float:
        """Entries that were read to find a value, now or by an earlier part of the run."""
        return self.known[name][1] if name in self.known else self.paid[name]
