"""One self-contained HTML page: headings, text, tables, embedded pictures. No scripts, no links."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["Page", "machine", "markdown_table", "shown"]

CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
       max-width: 62rem; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.4rem; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
         border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .88rem; }
.reproduced { color: #00614a; font-weight: 600; }
.partly { color: #8a5a00; font-weight: 600; } .not { color: #a1260d; font-weight: 600; }
ul { padding-left: 1.2rem; margin: .2rem 0; } pre { white-space: pre-wrap; font-size: .82rem; }
"""


class Page:
    """A page that is written piece by piece.

    Examples
    --------
    >>> page = Page("Title & more")
    >>> page.heading("Part").text("a < b").table([{"name": "x", "value": 0.5}])
    Page(3 parts)
    >>> html = page.html()
    >>> "Title &amp; more" in html, "a &lt; b" in html, "<script" in html
    (True, True, False)
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[str] = []

    def __repr__(self) -> str:
        return f"Page({len(self.parts)} parts)"

    def heading(self, text: str) -> Page:
        """Start a section."""
        self.parts.append(f"<h2>{escape(text)}</h2>")
        return self

    def text(self, text: str, note: bool = False) -> Page:
        """A paragraph."""
        kind = ' class="note"' if note else ""
        self.parts.append(f"<p{kind}>{escape(text)}</p>")
        return self

    def bullets(self, lines: Iterable[str]) -> Page:
        """A list."""
        self.parts.append(_bullets(lines))
        return self

    def preformatted(self, text: str) -> Page:
        """Text as it is."""
        self.parts.append(f"<pre>{escape(text)}</pre>")
        return self

    def table(self, rows: Sequence[Mapping[str, Any]], caption: str = "") -> Page:
        """Rows with the same keys; lists become bullets, verdicts get their colour."""
        if not rows:
            return self
        head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
        body = "".join(
            "<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>" for row in rows
        )
        note = f'<p class="note">{escape(caption)}</p>' if caption else ""
        self.parts.append(
            f'{note}<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
        return self

    def picture(self, path: str | Path, caption: str) -> Page:
        """A PNG file, embedded."""
        data = base64.b64encode(Path(path).read_bytes()).decode()
        alt = escape(caption, quote=True)
        self.parts.append(
            f'<figure><img alt="{alt}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
        return self

    def html(self) -> str:
        """The page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{CSS}</style></head>"
            f"<body><h1>{escape(self.title)}</h1>\n" + "\n".join(self.parts) + "\n</body></html>\n"
        )


def _bullets(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _cell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"<td>{_bullets(map(str, value))}</td>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="number">{escape(shown(value))}</td>'
    text = str(value)
    kind = {"reproduced": "reproduced", "partly": "partly", "not reproduced": "not"}.get(text, "")
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def shown(value: Any) -> str:
    """A number as a table shows it.

    Examples
    --------
    >>> shown(12345), shown(0.000123456), shown("text")
    ('12,345', '0.000123', 'text')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The same rows for a README.

    Examples
    --------
    >>> print(markdown_table([{"a": 1, "b": "x"}]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    if not rows:
        return ""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        cells = ["; ".join(v) if isinstance(v, (list, tuple)) else shown(v) for v in row.values()]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def machine() -> dict[str, str]:
    """Processor, memory, system and versions: nothing that tells whose machine it is.

    Examples
    --------
    >>> list(machine())[:4]
    ['processor', 'cores', 'memory', 'system']
    """
    from ..models.model import versions

    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return facts | versions()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):
        return "unknown"
