"""The page of spd1 compare: the table, the picture, and what was refused."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files import replacing
from ..reproduce.report import Page

__all__ = ["write_page"]


def write_page(
    path: Path,
    title: str,
    asked: str,
    rows: list[dict[str, str]],
    refused: dict[str, str],
    draw: Callable[[Path, str], Any],
) -> None:
    """Write the page, whole or not at all; ``asked`` says what of, ``draw`` makes the picture."""
    page = Page(title)
    page.text(asked)
    page.text(
        "Gaps are relative duality gaps, proved by a feasible dual point. A pass is as many "
        "entries read as the data stores; everything counts, looks at the certificate too. "
        "Seconds are those in the method, without looks at the certificate, which the limit counts "
        "too. Automatic steps, the same seed for all."
    )
    page.table(rows)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "compare.png"
        draw(picture, "")
        page.picture(
            picture,
            "The best proven gap so far by pass, by entry read and by second; the line across is "
            "what was asked for. The legend has the order of the table.",
        )
    if refused:
        page.heading("Refused").bullets(f"{name}: {reason}" for name, reason in refused.items())
    with replacing(path) as stream:
        stream.write(page.html().encode("utf-8"))
