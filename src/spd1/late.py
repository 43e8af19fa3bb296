"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["late"]

T = TypeVar("T")


class late(Generic[T]):
    """What ``functools.cached_property`` is, without the lock that Python 3.11 takes for it.

    Small fits ask for half a dozen such attributes, and a lock costs as much as computing them. Two
    threads that ask at the same time may both compute one: the values are the same.

    Examples
    --------
    >>> class Square:
    ...     @late
    ...     def area(self):
    ...         print("computed")
    ...         return 4.0
    >>> square = Square()
    >>> square.area + square.area
    computed
    8.0
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> late[T]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.compute(owner)
        return value
