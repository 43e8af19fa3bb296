"""The methods: mathematics that a run asks for epochs. ``registry`` knows them by name."""

from __future__ import annotations

from .registry import METHODS, SPECIAL_METHODS, method_class

__all__ = ["METHODS", "SPECIAL_METHODS", "method_class"]
