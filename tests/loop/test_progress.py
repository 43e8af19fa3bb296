"""The live line of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from spd1 import solve
from spd1.loop.progress import ProgressLine
from spd1.result import Progress


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


PTY = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    import numpy as np, spd1
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 30))
    spd1.solve(A, A[:, 0] > 0, l2=1e-3, method="psgd", verbose=True, max_passes=20)
    sys.stdout.flush()
    os._exit(0)
seen = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    seen += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("columns", [24, 40, 200])
def test_the_line_is_no_wider_than_the_terminal(columns):
    """Each rewriting begins with a carriage return and leaves the last column free."""
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run(
        [sys.executable, "-c", PTY], env=environment, capture_output=True, check=True, timeout=300
    )
    shown = done.stdout.decode().replace("\r\n", "")
    lines = [line for line in shown.split("\r") if line.strip()]
    assert any("gap" in line for line in lines)
    assert max(map(len, lines)) <= columns - 1
    assert ("primal" in shown) == (columns == 200)


def test_a_notebook_gets_a_bar_and_no_red_text(monkeypatch, capsys):
    """A display that is updated; nothing on standard error."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        assert display_id is True
        shown.append(html)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    fake = ModuleType("IPython")
    fake.get_ipython = lambda: shell
    fake.display = ModuleType("IPython.display")
    fake.display.HTML, fake.display.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    line = ProgressLine("newton", 1e-6)
    line.compiling("descend on dense data", True)
    for k, gap in enumerate((1.0, 1e-3, 1e-6)):
        line.pause = 0.0
        line.show(Progress(k, k, 0.1, 1.0, 1.0 - gap, gap, gap), gap)
    assert capsys.readouterr() == ("", "")
    assert ["value=" in html for html in shown] == [False, True, True, True]
    assert [html.split('value="')[1][:5] for html in shown[1:]] == ["0.000", "0.500", "1.000"]
