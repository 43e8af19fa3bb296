"""The certificate: what any x and any feasible y prove about the optimum."""

from __future__ import annotations

from .gap import Certificate

__all__ = ["Certificate"]
