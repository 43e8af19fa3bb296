"""method="auto": which engine suits a problem, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["pick"]

LARGE = 50_000  # stored entries


def pick(problem: Problem) -> tuple[str, str]:
    """Name of the method to run and the reason, in a few words."""
    from .faces import best_face
    from .few_rows import suits

    p = problem
    face = best_face(p)
    if face == "":
        return "rows", "neither the loss nor its conjugate fits Newton's method"
    if face == "proximal":
        return "newton", "on the dual with a fading proximal term: nothing is smooth"
    smooth = p.gamma > 0 or p.label_kind == "count"
    if smooth and suits(p):
        return "few-rows", "few rows and l2 alone: Newton in the span of the rows"
    if face == "dual":
        return "newton", "on the dual, where the kinks of the loss are bounds"
    if not p.reg.plain:
        return "newton", "on the columns that can still move"
    dense = p.A.stored == p.n * p.d
    large = p.A.stored > LARGE
    if p.mu > 0 and large and ((p.d >= p.n and p.n > 300) or not dense):
        return "rows", "smooth loss, l2 > 0, too large to factor"
    return "newton", "smooth loss, few rows or columns"
