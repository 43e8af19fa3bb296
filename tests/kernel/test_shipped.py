"""Kernels that come with the package: used where they fit, compiled anew where not."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from numba.core import config

from spd1.kernel import shipped
from support.sandbox import CERTIFY, Sandbox

name, features = list(shipped.builder_environment(Path("any")).values())[:2]
pytestmark = pytest.mark.skipif(
    "NUMBA_DISABLE_JIT" in os.environ or not shipped._processor_has(name, features),
    reason="nothing is compiled, or the processor is older than what is shipped",
)
SCRIPT = CERTIFY.format(loss='"squared"')


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A package with kernels for a processor that this one is not, and what they find."""
    box = Sandbox(tmp_path_factory.mktemp("shipped"))
    folder = box.package / "_kernels"
    folder.mkdir()
    out, err = box.run(SCRIPT, **shipped.builder_environment(folder))
    assert "compiling kernel 1, " in err
    assert not box.machine_code()  # nothing goes into the user's cache
    shipped.write_manifest(folder)
    return box, out


def damaged(box, tmp_path):
    """The same package elsewhere, to be spoilt."""
    other = Sandbox(tmp_path)
    shutil.copytree(box.package / "_kernels", other.package / "_kernels")
    return other, other.package / "_kernels"


def test_they_are_found_and_nothing_is_compiled(built):
    box, out = built
    assert box.run(SCRIPT) == (out, "")
    assert not box.machine_code()


def test_they_are_found_in_another_folder_and_with_other_dates(built, tmp_path):
    other, _ = damaged(built[0], tmp_path)
    for path in other.package.rglob("*.*"):
        os.utime(path, (10**9, 10**9))
    assert other.run(SCRIPT) == (built[1], "")


def test_they_are_found_without_a_folder_to_write_to(built, tmp_path):
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "none")
    assert built[0].run(SCRIPT, NUMBA_CACHE_DIR=nowhere) == (built[1], "")


def test_they_hold_no_source_text_of_the_builder(built):
    box, _ = built
    for path in (box.package / "_kernels").iterdir():
        assert str(box.root).encode() not in path.read_bytes(), path.name


def test_they_can_be_left_alone(built):
    box, out = built
    again, err = box.run(SCRIPT, SPD1_SHIPPED="0")
    assert "compiling kernel 1, " in err
    assert float(again) == pytest.approx(float(out), rel=1e-13)  # another processor, other bits
    assert box.machine_code()
    # the user's own come first from now on: with them shipped ones are not needed
    found = box.run(SCRIPT + "from spd1.kernel.announce import TALLY; print(TALLY.compiled)")
    assert found == (f"{again}0\n", "")
    shutil.rmtree(box.cache)


def spoil(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def test_damaged_ones_are_compiled_as_if_there_were_none(built, tmp_path):
    other, folder = damaged(built[0], tmp_path)
    for number, path in enumerate(sorted(folder.glob("*.nb[ci]"))):
        if number % 3 == 0:
            spoil(path)
        elif number % 3 == 1:
            os.truncate(path, number)
    out, err = other.run(SCRIPT)
    assert float(out) == pytest.approx(float(built[1]), rel=1e-13)
    assert "compiling kernel 1, " in err
    assert other.run(SCRIPT) == (out, "")


def test_an_edited_package_does_not_use_them(built, tmp_path):
    other, _ = damaged(built[0], tmp_path)
    source = other.package / "losses" / "squared.py"
    source.write_text(source.read_text().replace("0.5 * (u - b) * (u - b)", "99.0"))
    out, err = other.run(SCRIPT)
    assert "for squared" in err
    assert float(out) > float(built[1]) + 50.0


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest with changes, and return what is made of it."""

    def write(**changes):
        shipped.write_manifest(tmp_path)
        path = tmp_path / shipped.MANIFEST
        about = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({name: value for name, value in about.items() if value}))
        shipped.shipped.cache_clear()
        return shipped.shipped(tmp_path)

    yield write
    shipped.shipped.cache_clear()


def test_a_manifest_of_this_machine_fits(manifest, tmp_path):
    folder, processor = manifest()
    assert folder == str(tmp_path)
    assert processor[1:] == tuple(shipped.builder_environment(tmp_path).values())[:2]


@pytest.mark.parametrize("name", ["python", "numba", "llvmlite", "triple"])
def test_other_versions_do_not_fit(manifest, name):
    assert manifest(**{name: "another"}) is None
    assert manifest(**{name: ""}) is None


def test_a_processor_without_a_feature_does_not_fit(manifest):
    assert manifest(features="+a-feature-of-tomorrow") is None


def test_a_processor_that_the_user_asks_for_is_heard(manifest, monkeypatch):
    monkeypatch.setattr(config, "CPU_NAME", "generic")
    assert manifest() is None


@pytest.mark.parametrize("asked", ["haswell", "znver2", "x86-64-v3"])
def test_a_processor_that_is_named_without_features_leaves_all_of_them(
    manifest, monkeypatch, asked
):
    monkeypatch.setattr(config, "CPU_NAME", asked)
    assert manifest() is not None


def test_features_that_the_user_asks_for_are_heard(manifest, monkeypatch):
    monkeypatch.setattr(config, "CPU_FEATURES", features)
    assert manifest() is not None
    for fewer in ("", "+sse2", features.replace("+avx2", "-avx2")):
        monkeypatch.setattr(config, "CPU_FEATURES", fewer)
        assert manifest() is None


def test_a_damaged_manifest_is_no_obstacle(manifest, tmp_path):
    manifest()
    (tmp_path / shipped.MANIFEST).write_text("{")
    shipped.shipped.cache_clear()
    assert shipped.shipped(tmp_path) is None
