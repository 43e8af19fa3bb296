"""What is under version control: nothing large, nothing that a program makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_BYTES = 450_000  # a picture; data and wheels are larger
MADE_FOLDERS = {
    ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__", "_build",
    "_kernels", "auto_examples", "build", "demo-output", "dist", "generated", "node_modules",
    "outputs", "reproduction", "results", "venv",
}  # fmt: skip
MADE_SUFFIXES = {
    ".7z", ".bz2", ".egg-info", ".gz", ".joblib", ".log", ".nbc", ".nbi", ".npy", ".npz", ".o",
    ".parquet", ".part", ".pickle", ".pkl", ".pyc", ".pyd", ".so", ".spd1", ".store", ".whl",
    ".xz", ".zip",
}  # fmt: skip


def git(*words: str) -> list[str]:
    """Lines that git prints, or a skip where this is no checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout: an sdist, for one")
    try:
        found = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git does not answer here: {error}")
    return [name for name in found.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    return git("ls-files", "-z")


def test_no_file_is_large(tracked):
    sizes = {n: (ROOT / n).stat().st_size for n in tracked if (ROOT / n).is_file()}
    assert len(sizes) > 300
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def test_nothing_that_a_program_makes(tracked):
    made = [
        name
        for name in tracked
        if set(Path(name).parts[:-1]) & MADE_FOLDERS or set(Path(name).suffixes) & MADE_SUFFIXES
    ]
    assert made == []


def test_nothing_that_is_to_be_ignored():
    """A file that was added by force, or before it was ignored."""
    assert git("ls-files", "-z", "--cached", "--ignored", "--exclude-standard") == []


def test_no_links_and_no_names_that_other_systems_refuse(tracked):
    """Windows has no two names that differ in case alone, and no colons in names."""
    assert [name for name in tracked if (ROOT / name).is_symlink()] == []
    folded = [name.lower() for name in tracked]
    assert len(set(folded)) == len(folded)
    assert [name for name in tracked if set(name) & set('<>:"|?*\\')] == []
