"""What pages name exists: files, names of the package, commands and options, targets, variables."""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer.main

import spd1
from spd1.cli.app import app
from support.pages import DOCS, MADE, ROOT, blocks, name_of, pages

PAGES = [
    *(page for page in pages() if page != DOCS / "reference" / "changelog.md"),  # history
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    DOCS / "reference" / "api.rst",
]
FOLDERS = ("benchmarks", "conda", "docs", "examples", "src", "tests", ".github")
SUFFIXES = "py|md|rst|txt|yml|yaml|toml|png|css"
#: Options of programs other than ours that pages name.
FOREIGN = {"--no-deps", "--no-build-isolation", "--find-links", "--user", "--upgrade"}
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def files():
    """Files of the repository that are not made by a program."""
    found = [p for p in ROOT.iterdir() if p.is_file()]
    for folder in FOLDERS:
        found += [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    return {
        p.relative_to(ROOT).as_posix()
        for p in found
        if "__pycache__" not in p.parts and not set(p.relative_to(ROOT).parts) & set(MADE)
    }


FILES = files()
SCRIPTS = "\n".join(p.read_text("utf-8") for p in (ROOT / "benchmarks").rglob("*.py"))
COMMANDS = typer.main.get_command(app).commands


def text_of(page):
    return page.read_text(encoding="utf-8")


def spans(page):
    """Inline code, and lines of code that are indented or in a block of commands."""
    lines = [
        line for block in blocks(page) if block.language == "sh" for line in block.text.split("\n")
    ]
    lines += re.findall(r"^    (.+)$", text_of(page), re.MULTILINE)
    return [*CODE.findall(text_of(page)), *lines]


def options_of(command):
    """All options of a command of ours, and of those below it."""
    found = {name for p in command.params for name in (*p.opts, *p.secondary_opts)} | {"--help"}
    for inner in getattr(command, "commands", {}).values():
        found |= options_of(inner)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_exist(page):
    for found in re.findall(rf"(?<![\w/.])(?:{'|'.join(FOLDERS)})/[\w./*-]*\w", text_of(page)):
        if set(Path(found).parts) & set(MADE) or "*" in found or (ROOT / found).exists():
            continue
        assert re.match(r"docs/_build|benchmarks/results", found), f"{name_of(page)}: {found}"
    for found in CODE.findall(text_of(page)):
        found = found.partition("::")[0]
        if re.fullmatch(rf"[\w./-]*\w\.(?:{SUFFIXES})", found) and re.search(
            r"/|\.py$|\.md$", found
        ):
            assert any(f == found or f.endswith(f"/{found}") for f in FILES), (
                f"{name_of(page)}: {found}"
            )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_of_the_package_exist(page):
    for found in re.findall(r"(?<![\w./-])spd1((?:\.[A-Za-z_]\w*)+)", text_of(page)):
        if re.match(rf"\.(?:github|(?:{SUFFIXES})$)", found):  # the site, and a page of that name
            continue
        here, path = spd1, "spd1"
        for part in found[1:].split("."):
            path += f".{part}"
            if not hasattr(here, part):
                try:
                    importlib.import_module(path)
                except ImportError:
                    pytest.fail(f"{name_of(page)}: spd1{found}")
            here = getattr(here, part)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_exist(page):
    for span in spans(page):
        words = re.sub(r"^(\w+=\S+ )*", "", span).split("#")[0].split(";")[0]
        if not words.startswith("spd1 ") or re.match(r"spd1 [^a-z-]", words):
            continue
        try:
            _, name, *rest = shlex.split(words)
        except ValueError:  # a quotation mark that the page closes elsewhere
            continue
        if name.startswith("-") or name == "COMMAND":
            continue
        assert name in COMMANDS, f"{name_of(page)}: {span}"
        known = options_of(COMMANDS[name])
        for word in rest:
            if OPTION.match(word):
                assert word.partition("=")[0] in known, f"{name_of(page)}: {span}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist_somewhere(page):
    known = options_of(typer.main.get_command(app)) | FOREIGN
    for span in CODE.findall(text_of(page)):
        for option in OPTION.findall(span):
            assert option in known or f'"{option}"' in SCRIPTS, f"{name_of(page)}: {span}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_of_benchmarks_are_theirs(page):
    """An option stands in the script, or in one that it takes its options from."""
    for script, rest in re.findall(r"python (benchmarks/\w+\.py)([^\n`|)]*)", text_of(page)):
        source = (ROOT / script).read_text("utf-8")
        for helper in re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE):
            beside = ROOT / "benchmarks" / f"{helper}.py"
            source += beside.read_text("utf-8") if beside.exists() else ""
        for option in OPTION.findall(rest.split("#")[0]):
            assert f'"{option}"' in source, f"{name_of(page)}: {script} {option}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_extras_and_variables_exist(page):
    text = text_of(page)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:`|^    )make ([a-z][\w-]*)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{name_of(page)}: make {target}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extras in re.findall(r"install [^\n`]*'?(?:\.|spd1)\[([a-z,]+)\]", text):
        assert set(extras.split(",")) <= set(project["optional-dependencies"]), extras
    source = "".join(p.read_text("utf-8") for p in Path(spd1.__file__).parent.rglob("*.py"))
    for variable in set(re.findall(r"\bSPD1_[A-Z_]*[A-Z]", text)):
        known = variable in source + SCRIPTS + makefile + (ROOT / "hatch_build.py").read_text()
        assert known, f"{name_of(page)}: {variable}"
