"""Small pieces of HTML for notebooks, and whether this is one."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["curve", "grid", "in_notebook", "pairs"]

WIDTH, HEIGHT = 220, 48  # pixels of a curve
LEAST = 1e-16  # gaps below are drawn there


def in_notebook() -> bool:
    """Whether output goes to a notebook: a shell of IPython that has a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values.

    Examples
    --------
    >>> pairs([("gap", "<1e-6")])
    '<table><tr><th style="text-align:left">gap</th><td>&lt;1e-6</td></tr></table>'
    """
    left = 'style="text-align:left"'
    lines = (
        f"<tr><th {left}>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows
    )
    return f"<table>{''.join(lines)}</table>"


def grid(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a line of names; where it is too wide it can be moved.

    Examples
    --------
    >>> grid(["a"], [[1]])
    '<div style="overflow-x:auto"><table><tr><th>a</th></tr><tr><td>1</td></tr></table></div>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    table = f"<table><tr>{head}</tr>{body}</table>"
    return f'<div style="overflow-x:auto">{table}</div>'


def curve(values: Iterable[float], label: str) -> str:
    """A line of positive numbers on a log scale, in the colour of the text, and what it shows.

    Fewer than two numbers make no line: ''.

    Examples
    --------
    >>> curve([1.0], "gap")
    ''
    """
    heights = [math.log10(max(v, LEAST)) for v in values if math.isfinite(v)]
    if len(heights) < 2:
        return ""
    low, high = min(heights), max(heights)
    spread = (high - low) or 1.0
    points = " ".join(
        f"{4 + k * (WIDTH - 8) / (len(heights) - 1):.1f},"
        f"{4 + (high - h) / spread * (HEIGHT - 8):.1f}"
        for k, h in enumerate(heights)
    )
    drawn = (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
    ends = [10.0 ** heights[k] for k in (0, -1)]
    shown = f"{escape(label)}: {ends[0]:.1e} to {ends[1]:.1e}"
    return f"<div>{drawn}<br><small>{shown}</small></div>"
