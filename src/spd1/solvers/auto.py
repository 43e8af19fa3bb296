"""method="auto": which engine suits a problem, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["pick"]

LARGE = 50_000  # stored entries
FEW = 300  # rows


def pick(problem: Problem) -> tuple[str, str]:
    """Name of the method to run and the reason, in a few words."""
    from .faces import best_face
    from .few_rows import suits

    p = problem
    smooth = p.gamma > 0 or p.label_kind == "count"
    if smooth and suits(p):
        return "few-rows", "few rows and l2 alone: Newton in the span of the rows"
    face = best_face(p)
    if face == "":
        return "rows", "neither the loss nor its conjugate fits Newton's method"
    if face == "proximal":
        return "newton", "on the dual with a fading proximal term: nothing is smooth"
    sparse = p.A.stored < p.n * p.d
    easy = smooth and p.reg.plain and p.mu > 0 and p.A.stored > LARGE
    if easy and sparse and (face == "primal" or p.mu * p.n >= 1.0):
        return "rows", "smooth loss, l2 > 0, large and sparse"
    if face == "dual":
        return "newton", "on the dual, where the kinks of the loss are bounds"
    if not p.reg.plain:
        return "newton", "on the columns that can still move"
    if easy and p.d >= p.n > FEW:
        return "rows", "smooth loss, l2 > 0, more columns than rows"
    return "newton", "smooth loss, few rows or columns"
