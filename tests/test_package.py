"""What is published: versions, extras, the readme on a registry's page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest(requirement):
    name, _, version = re.match(r"([\w.-]+)(\[.*\])?>=([\d.]+)", requirement).groups()
    return name, version


def test_minimum_versions_are_those_that_continuous_integration_installs():
    text = (ROOT / ".github" / "minimum-versions.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)", text, flags=re.M))
    for name in ("click", "pyparsing"):  # typer's and matplotlib's
        pinned.pop(name)
    wanted = dict(map(lowest, PROJECT["dependencies"]))
    wanted |= dict(map(lowest, PROJECT["optional-dependencies"]["plot"]))
    wanted |= dict(map(lowest, PROJECT["optional-dependencies"]["parquet"]))
    assert set(pinned) == set(wanted)
    for name, version in wanted.items():
        assert f"{pinned[name]}.".startswith(f"{version}."), name
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    for name, version in map(lowest, PROJECT["dependencies"]):
        assert f"- {name} >={version}\n" in recipe


def test_the_extra_all_has_what_users_may_want():
    extras = PROJECT["optional-dependencies"]
    [everything] = extras["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    for_developers = {"test", "bench", "benchopt", "lint", "docs"}
    assert named == set(extras) - for_developers - {"all", "cli"}


def test_links_of_the_readme_lead_somewhere_on_any_page():
    pytest.importorskip("hatchling")
    import importlib.util

    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    text = build.absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), "https://x.org/r")
    for link in re.findall(r"\]\(([^)\s]+)", text):
        assert link.startswith(("https://", "#")), link
    shown = build.absolute_links("![a](pages/a.png) [b](pages/b.md#c) [d](#e) [f](https://g)", "S")
    assert (
        shown == "![a](S/raw/main/pages/a.png) [b](S/blob/main/pages/b.md#c) [d](#e) [f](https://g)"
    )


def test_the_sdist_has_what_the_readme_links():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    taken = config["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert link.split("/")[0] in taken, link


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_and_forms_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)
