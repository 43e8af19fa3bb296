"""The reference is complete: names, words, statuses, verdicts; README stays short."""

import importlib
import re

import pytest

import spd1
from support.pages import DOCS, ROOT, agree

LAB = DOCS / "laboratory"
MODULES = ("spd1", "spd1.linear_model", "spd1.io", "spd1.datasets", "spd1.plotting")
NOT_OBJECTS = {"LOSSES", "METHODS", "COLLECTION", "__version__"}


def listed_names():
    """Names of api.rst by module."""
    module, found = "", {}
    for line in (DOCS / "reference" / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            found.setdefault(module, set()).add(line.strip())
    return found


@pytest.mark.parametrize("module", MODULES)
def test_api_page_lists_every_public_name(module):
    public = set(importlib.import_module(module).__all__) - NOT_OBJECTS
    assert listed_names()[module] == public


def test_losses_by_name_are_all_that_the_api_page_lists():
    page = (DOCS / "reference" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", page.split("Losses\n---")[1].split("\n---")[0], re.MULTILINE)
    named = {kind.__name__ for kind in spd1.LOSSES.values()}
    assert set(listed) - {"Loss", "compiled"} == named


def test_glossary_has_every_word_of_the_house():
    glossary = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8").lower()
    house = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Words of the house")[1]
    words = re.findall(r"^\| \*([^*]+)\* \|", house, flags=re.MULTILINE)
    assert len(words) > 30
    for word in words:
        plain = re.sub(r"^(a|to|the) ", lambda m: "to " if m[1] == "to" else "", word.lower())
        assert re.search(rf"^{re.escape(plain)}", glossary, flags=re.MULTILINE), word


def test_contributing_has_every_word_of_the_house_in_the_glossary():
    glossary = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(
        r"^([a-z].*)\n  \S", glossary.split("## Words of the house")[1], flags=re.MULTILINE
    )
    assert len(terms) > 30
    house = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Words of the house")[1]
    for term in terms:
        first = term.removeprefix("to ").split(",")[0].split(" (")[0]
        assert re.search(rf"\*[^*]*{re.escape(first)}", house.split("## Rules")[0]), term


def test_statuses_are_those_of_results():
    told = set(
        re.findall(r"``(\w+)``", spd1.Result.__doc__.split("status : str")[1].split("passes")[0])
    )
    page = (DOCS / "reference" / "statuses.md").read_text(encoding="utf-8")
    assert (
        set(re.findall(r"^\| `(\w+)` \|", page.split("## Errors")[0], flags=re.MULTILINE)) >= told
    )
    assert "converged" in told


def test_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", text, flags=re.MULTILINE)[1] == spd1.__version__


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 90


NUMBER = re.compile(r"(?:factor |ends at )(above [^ ;|]+|[^ ;|]+)")


def cells(page):
    """The rows of a table whose first cell begins with a claim's name."""
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:3] == "| V"]
    return {re.split(r"[ ,]", row[0])[0]: row for row in rows if not row[0].endswith("(ours)")}


def test_short_table_has_the_verdicts_and_numbers_of_the_reproduction():
    """V10 has no rivals: its cells are prose."""
    whole = cells(LAB / "reproduction.md")
    short = cells(LAB / "verdicts.md")
    assert list(whole) == list(short) == [f"V{k}" for k in range(1, 11)]
    for key in list(whole)[:-1]:
        for full, brief in zip(whole[key][3:5], short[key][1:3], strict=True):
            verdict = re.match(r"\*\*(.*?)\*\*", full)[1]
            assert brief == f"{verdict} ({', '.join(NUMBER.findall(full))})", key


def test_readme_has_the_numbers_of_the_laboratory():
    """The race's mean and share, and the share of hostile problems, as their pages have them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    race = (LAB / "race.md").read_text(encoding="utf-8")
    for row in (r"^\| all \| ([\d.]+) \| (\d+ %)", r"^All \d+ fits: ([\d.]+), (\d+ %)"):
        mean, share = re.search(row, race, re.M).groups()
        assert f"**{mean}** times" in readme
        assert share in readme
    problems, certified, percent = re.search(
        r"Of ([\d,]+) problems .*? ([\d,]+) are certified to\s+1e-6 within 20 s, ([\d.]+ %)",
        (DOCS / "explanation" / "promises.md").read_text(encoding="utf-8"),
        flags=re.DOTALL,
    ).groups()
    assert f"**{percent}** of {problems} hostile problems" in readme
    rest = int(problems.replace(",", "")) - int(certified.replace(",", ""))
    assert agree(f"the other {rest}", re.search(r"the other \d+", readme)[0])
