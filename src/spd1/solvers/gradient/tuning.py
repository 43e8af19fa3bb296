"""The tuned numbers of the lazy gradient methods."""

from __future__ import annotations

FEW = 4  # up to this many missed steps, repeating them is faster than the closed form
