"""The code in README and docs runs as printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = (
    "howto/own_loss",
    "reference/linear_model",
    "reference/files",
    "howto/out_of_core",
    "laboratory/parallel",
    "howto/cluster",
)
PAGES = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in NAMES)]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = python_blocks(page)
    assert blocks, f"{page.name} shows no code"
    namespace = {"__name__": "__docs__"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


def test_pages_link_to_files_that_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


NUMBER = re.compile(r"(?:factor |ends at )(above [^ ;|]+|[^ ;|]+)")


def cells(page):
    """The rows of a table whose first cell begins with a claim's name."""
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:3] == "| V"]
    return {re.split(r"[ ,]", row[0])[0]: row for row in rows if not row[0].endswith("(ours)")}


def test_readme_has_the_verdicts_and_numbers_of_the_reproduction():
    """V10 has no rivals: its cells are prose."""
    whole = cells(DOCS / "laboratory" / "reproduction.md")
    short = cells(ROOT / "README.md")
    assert list(whole) == list(short) == [f"V{k}" for k in range(1, 11)]
    for key in list(whole)[:-1]:
        for full, brief in zip(whole[key][3:5], short[key][1:3], strict=True):
            verdict = re.match(r"\*\*(.*?)\*\*", full)[1]
            assert brief == f"{verdict} ({', '.join(NUMBER.findall(full))})", key
