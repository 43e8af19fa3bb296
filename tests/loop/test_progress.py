"""The live line of a run."""

from __future__ import annotations

import sys

from spd1 import solve
from spd1.loop.progress import ProgressLine


def test_verbose_writes_lines_to_a_pipe(problem, capsys):
    found = solve(problem, "spd1", verbose=True, max_passes=60)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("spd1 ")]
    lines = [line for line in lines if " compiling " not in line]
    assert 2 <= len(lines) <= len(found.trace) + 1  # the first, the last, and some between
    assert out == ""
    for word in ("pass ", "primal ", "dual ", "gap ", " s"):
        assert word in lines[0]
    assert f"pass {found.trace.passes[0]:7.1f}" in lines[0]
    assert f"{found.passes:.1f}" in lines[-1]
    assert f"{found.dual:.8g}" in lines[-1]
    assert f"{found.rel_gap:.1e}" in lines[-1]
    solve(problem, max_passes=5)
    assert "pass" not in capsys.readouterr().err


def test_the_line_says_what_is_being_compiled(capsys):
    line = ProgressLine("newton", 1e-6)
    line.compiling("descend on dense data", True)
    line.compiling("descend on dense data", False)
    assert capsys.readouterr().err == "newton   compiling descend on dense data\n"


def test_verbose_rewrites_one_line_of_a_terminal(problem, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    solve(problem, "spd1", verbose=True, max_passes=20)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert err.count("\r") == err.count("spd1 ") >= 2
