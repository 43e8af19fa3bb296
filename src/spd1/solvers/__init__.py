"""The methods: mathematics that a run asks for epochs. ``registry`` knows them by name."""

from __future__ import annotations

from .registry import FAMILY_METHODS, METHODS, SPECIAL_METHODS, method_class

__all__ = ["FAMILY_METHODS", "METHODS", "SPECIAL_METHODS", "method_class"]
