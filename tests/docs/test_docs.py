"""The code of README and docs runs as printed, and prints what the pages show."""

import contextlib
import io
import shlex

import pytest
from typer.testing import CliRunner

from spd1.cli.app import app
from support.pages import Block, agree, blocks, name_of, pages

RUN = ("python", "sh")
SHOWN = ("text", "")
WITH_CODE = [page for page in pages() if any(block.language in RUN for block in blocks(page))]


def run_commands(text):
    """Lines that begin with spd1, as a shell would give them to the command line."""
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "spd1", f"only spd1 is run from pages, not {line!r}"
            outcome = CliRunner().invoke(app, words[1:])
            assert outcome.exit_code == 0, f"{line}\n{outcome.output}"


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_runs_in_order_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__docs__"}
    printed, last = "", Block("", "", "something")
    for block in blocks(page):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.text, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif block.language == "sh":
            run_commands(block.text)
        elif block.language == "text" and last.language == "python" and not last.between.strip():
            assert agree(block.text, printed), f"{page.name} shows\n{block.text}\nnot\n{printed}"
        last = block


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_is_run_or_says_that_it_is_text(page):
    """A block under another name would look like code and be run by nobody."""
    for block in blocks(page):
        directive = block.language.startswith("{")
        assert directive or block.language in RUN + SHOWN, f"{page.name}: {block.language}"


def test_numbers_are_compared_as_numbers():
    assert agree("gap 1e-17, 12.001 of\n it", "gap 8e-13, 12.0009 of it")
    assert not agree("gap 1e-3", "gap 2e-3")
    assert not agree("gap 1e-3", "gap 1e-3 left")
    assert not agree("converged", "stalled")
