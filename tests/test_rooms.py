"""The house: every room imports only from rooms above it in the list of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import spd1

ROOT = Path(__file__).parents[1]
SOURCE = Path(spd1.__file__).parent
BLOCK = re.compile(r"<!-- rooms -->\n```text\n(.*?)```", re.DOTALL)


def rooms() -> list[str]:
    """Names of the rooms, top first: ``solvers.newton`` is the folder or the file of that name."""
    [text] = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> list[tuple[int, str]]:
    """Line and name of every module of the package that is imported.

    Inside functions and for type checkers alone included.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                inner = ".".join([*base, alias.name])
                found.append((node.lineno, inner if inner in known else ".".join(base)))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
            for module in names:
                assert not (module or "").startswith("spd1"), (
                    f"{name}:{node.lineno}: say it relatively"
                )
    return found


def room_of(module: str, listed: list[str]) -> int:
    """Number of the room that a module is in: the longest name that it begins with."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in listed:
            return listed.index(prefix)
    return len(listed)  # the package itself, and what starts it


def test_every_module_is_in_a_room():
    listed = rooms()
    assert len(listed) == len(set(listed)) > 25
    lost = [m for m in modules() if m not in ("", "__main__") and room_of(m, listed) == len(listed)]
    assert lost == []
    for room in listed:
        assert any(m == room or m.startswith(room + ".") for m in modules()), room


def test_rooms_import_only_from_rooms_above():
    listed, known, wrong = rooms(), modules(), []
    for name, path in known.items():
        here = room_of(name, listed)
        for line, target in imported(name, path, known):
            if room_of(target, listed) > here:
                wrong.append(f"{name}:{line} imports {target}")
    assert wrong == []


def test_no_two_modules_import_each_other():
    known = modules()
    edges = {name: {t for _, t in imported(name, path, known)} for name, path in known.items()}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for target in edges[name]:
                if target in edges and target != name:
                    visit(target, (*way, name))
            done.add(name)

    for name in known:
        visit(name, ())


def test_only_one_room_knows_numba():
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        if not name.startswith("kernel."):
            assert not re.search(r"^\s*(import|from) (numba|llvmlite)", text, re.MULTILINE), name


def test_constants_have_one_meaning_each():
    """A name of the package in capitals is written once; who else needs it imports it."""
    seen: dict[str, str] = {}
    for name, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    # every figure and table of the reproduction says the same of itself
                    if not isinstance(one, ast.Name):
                        continue
                    if one.id.isupper() and one.id not in ("CAPTION", "LOSS", "PANELS"):
                        assert one.id not in seen, f"{one.id} in {name} and {seen[one.id]}"
                        seen[one.id] = name
    assert len(seen) > 100
