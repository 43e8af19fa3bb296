"""What a kernel is made of: the contents of every file that its machine code can depend on.

Contents, not dates: a fresh install, a ``touch`` or a checkout changes nothing. And not every file:
those of the kernel and of the classes among its arguments, and what these import, so that a new
line in one loss leaves the kernels of the others alone.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["foreign_class", "stamp_of"]

PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]

# Imports are found by a pattern: a parser takes a hundred times as long. It finds too much where a
# docstring shows an import, which does no harm.
IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.M)
REMARK = re.compile(r"#[^\n]*")


def classes_in(types: Iterable[Any]) -> Iterator[Any]:
    """Classes, and functions, that Numba types stand for; tuples are looked into."""
    for t in types:
        cls = getattr(t, "instance_class", None)
        if cls is not None:
            yield cls
        if cls is not None or getattr(t, "types", None):
            yield from classes_in(t)
        dispatcher = getattr(t, "dispatcher", None)
        if dispatcher is not None:
            yield dispatcher.py_func


def inside(module: str) -> bool:
    """Whether a module is the package's own."""
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def foreign_class(types: Iterable[Any]) -> str:
    """Name the first class from outside the package among Numba types, or return ''."""
    for cls in classes_in(types):
        if not inside(cls.__module__):
            return str(cls.__name__)
    return ""


def stamp_of(function: Callable[..., Any], types: Iterable[Any]) -> str:
    """A hash of all that a kernel for these types is made of.

    Raises ``OSError`` where the package has no files that can be read.

    Examples
    --------
    >>> from spd1.terms import net_terms
    >>> stamp_of(net_terms.py_func, []) == stamp_of(net_terms.py_func, [])
    True
    """
    own = function.__module__
    modules = {cls.__module__ for cls in classes_in(types)}
    if inside(own):
        return _stamp(frozenset(filter(inside, modules | {own})))
    # A user's kernel: what it imports is not looked at, so all of the package counts.
    everything = frozenset(_module_of(path) for path in ROOT.rglob("*.py"))
    with open(inspect.getfile(function), "rb") as file:
        return _stamp(everything) + hashlib.sha256(file.read()).hexdigest()


@cache
def _stamp(modules: frozenset[str]) -> str:
    total = hashlib.sha256()
    for module in sorted(reached_from(modules)):
        total.update(f"{module} {_contents(module)[0]}\n".encode())
    return total.hexdigest()


def reached_from(modules: Iterable[str]) -> set[str]:
    """Modules of the package that these import, and that those import in turn."""
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting.extend(_contents(module)[1])
    return reached


@cache
def _contents(module: str) -> tuple[str, frozenset[str]]:
    """Hash of a module's file, and the modules of the package that it imports."""
    path = _path_of(module)
    if path is None:
        raise FileNotFoundError(f"no file of {module}")
    content = path.read_bytes()
    text = content.decode("utf-8")
    # relative to the package that the module is in, or is
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imported = set()
    for dots, tail, names in IMPORT.findall(text):
        parts = package.split(".")
        base = ".".join([*parts[: len(parts) - len(dots) + 1], *filter(None, [tail])])
        for name in REMARK.sub("", names).strip("()").split(","):
            bare = name.split()[:1]  # none behind a last comma
            inner = ".".join([base, *bare])
            if bare:
                imported.add(inner if _path_of(inner) else base)
    # the package itself only hands out names: counting it would count everything
    return hashlib.sha256(content).hexdigest(), frozenset(
        found for found in imported if found != PACKAGE and _path_of(found)
    )


@cache
def _path_of(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])
