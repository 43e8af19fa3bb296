"""The pages of the documentation: their code, what it prints, their headings and links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
MADE = ("_build", "auto_examples", "generated")  # by Sphinx, not by hand

FENCE = re.compile(r"^(`{3,}|:{3,})([^\n`]*)\n(.*?)^\1[ \t]*$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NOTHING = 1e-9  # gaps and the like below this are rounding: their digits mean nothing


class Block(NamedTuple):
    """A fenced block: what is written after the fence, its text, what lies before the next one."""

    language: str
    text: str
    between: str


def hand_written(pattern: str) -> list[Path]:
    """Files of docs/ that are not made by Sphinx."""
    return sorted(p for p in DOCS.rglob(pattern) if not set(p.relative_to(DOCS).parts) & set(MADE))


def pages() -> list[Path]:
    """README and every page of the documentation."""
    return [ROOT / "README.md", *hand_written("*.md")]


def name_of(page: Path) -> str:
    """The page as the tests call it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        Block(match[2].strip(), match[3], text[match.end() : ends[k]])
        for k, match in enumerate(found)
    ]


def prose(page: Path) -> str:
    """A page without its code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    return {slug(match) for match in re.findall(r"^#+ +(.+)$", prose(page), flags=re.MULTILINE)}


def links(page: Path) -> list[str]:
    """Targets of a page's links and pictures within the repository, anchors included."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def agree(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed: words as they are, numbers to three digits."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (shown, printed)]
    numbers = [[float(found) for found in NUMBER.findall(text)] for text in (shown, printed)]
    if words[0] != words[1] or len(numbers[0]) != len(numbers[1]):
        return False
    return all(
        abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or max(abs(a), abs(b)) < NOTHING
        for a, b in zip(*numbers, strict=True)
    )
