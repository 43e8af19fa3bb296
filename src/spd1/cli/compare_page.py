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
    rows: list[dict[str, str]],
    refused: dict[str, str],
    draw: Callable[[Path, str], Any],
) -> None:
    """Write the page, whole or not at all; ``draw`` makes the picture."""
    page = Page(title)
    page.text(
        "Gaps are relative duality gaps, proved by a feasible dual point. A pass is as many "
        "entries read as the data stores; everything counts, looks at the certificate too. "
        "Automatic steps, the same seed for all."
    )
    page.table(rows)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "compare.png"
        draw(picture, "")
        page.picture(picture, "The best proven gap so far by pass, by entry read and by second.")
    if refused:
        page.heading("Refused").bullets(f"{name}: {reason}" for name, reason in refused.items())
    with replacing(path) as stream:
        stream.write(page.html().encode("utf-8"))
