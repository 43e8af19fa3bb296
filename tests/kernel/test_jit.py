"""The Numba ceremony: classes in kernels, the disk cache, and a light import."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import os
import pickle
import re
import sys
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.data.convert import as_matrix
from spd1.kernel.jit import by_layout, compiled, helper, kernel
from spd1.losses import Hinge, Loss
from support.sandbox import CERTIFY, PACKAGE, Sandbox


class Figure:
    """An interface of the test's own; Numba knows methods by name, so the names are unusual."""

    def covered_area(self, scale):
        raise NotImplementedError

    def twice_covered_area(self, scale):
        return 2.0 * self.covered_area(scale)

    @property
    def corners(self):
        return 0


@compiled(Figure)
class Square(NamedTuple):
    side: float

    def covered_area(self, scale):
        return scale * self.side * self.side

    @property
    def corners(self):
        return 4


@compiled(Figure)
class UnitDisc(NamedTuple):
    """No fields at all."""

    def covered_area(self, scale):
        return scale * 3.0


@helper
def total_area(figure, count):
    total = 0.0
    for k in range(count):
        total += figure.twice_covered_area(k * 1.0)
    return total


@pytest.mark.parametrize(("figure", "area"), [(Square(3.0), 9.0), (UnitDisc(), 3.0)])
def test_kernels_call_own_and_inherited_methods(figure, area):
    assert total_area(figure, 4) == total_area.py_func(figure, 4) == 2 * 6 * area


def in_order(A, scale):
    return scale * A.entry(0, 0)


def by_index(A, scale):
    return scale * A.indptr[1]  # what dense data has not: compiling it there would fail


chosen = by_layout(in_order, by_index)


@helper
def choose(A, scale):
    return chosen(A, scale)


def test_types_choose_between_two_bodies_and_the_other_is_not_compiled():
    A = np.array([[3.0, 1.0], [0.0, 1.0]])
    for data, answer in ((A, 6.0), (sp.csr_array(A), 4.0)):
        assert choose(as_matrix(data), 2.0) == chosen(as_matrix(data), 2.0) == answer


def test_no_kernel_calls_a_kernel():
    """See ``helper``: its machine code would have a copy of its own."""
    written = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                kinds = {ast.unparse(decorator) for decorator in node.decorator_list}
                written[node.name] = node, kinds & {"kernel", "helper", "jitable"}
    kernels = {name for name, (_, kinds) in written.items() if "kernel" in kinds}
    assert len(kernels) > 30
    for name, (node, kinds) in written.items():
        called = {
            call.func.id
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        }
        assert not (kinds and called & kernels), (name, called & kernels)


def test_a_class_without_fields_stays_a_plain_value():
    assert repr(UnitDisc()) == "UnitDisc()"
    assert UnitDisc() == UnitDisc()
    assert UnitDisc.__doc__ == "No fields at all."
    assert UnitDisc.__module__ == __name__


def test_properties_are_inherited_unless_written():
    assert (UnitDisc().corners, Square(1.0).corners) == (0, 4)
    assert (Hinge().gamma, Hinge().L) == (0.0, 1.0)


def test_other_parameter_names_are_refused():
    with pytest.raises(TypeError, match=r"Wrong.phi must take \('self', 'u', 'b'\)"):

        @compiled(Loss)
        class Wrong(NamedTuple):
            s: float = 1.0

            def phi(self, prediction, label):
                return 0.0


def test_a_class_that_is_no_named_tuple_is_refused():
    with pytest.raises(TypeError, match=r"Plain must be a typing.NamedTuple class"):

        @compiled(Loss)
        class Plain:
            pass


def test_one_method_name_has_one_parameter_list():
    class Rival:
        def covered_area(self, width, height):
            raise NotImplementedError

    with pytest.raises(TypeError, match="covered_area must take"):

        @compiled(Rival)
        class Rectangle(NamedTuple):
            side: float = 1.0

            def covered_area(self, width, height):
                return width * height


# Processes of their own, on a copy of the package with a cache of its own.

USERS_CLASS = """
from typing import NamedTuple
from spd1.kernel.jit import compiled
from spd1.losses import Loss

@compiled(Loss)
class Mine(NamedTuple):
    def phi(self, u, b): return 0.5 * (u - b) ** 2
    def derivative(self, u, b): return u - b
    def conjugate(self, y, b): return b * y + 0.5 * y * y
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    """With the kernels of one certificate compiled; what that said is kept."""
    box = Sandbox(tmp_path_factory.mktemp("package"))
    box.first = box.run(CERTIFY.format(loss='"squared"'))
    return box


def test_the_first_process_says_that_it_compiles(sandbox):
    """A line why, then one a kernel, with what and how long."""
    why, *lines = sandbox.first[1].splitlines()
    assert why == "spd1: compiling kernels, once on this machine: a few seconds"
    assert any("net_terms" in line for line in lines)
    assert any("loss_terms for squared" in line for line in lines)
    assert any("on dense data" in line for line in lines)
    for number, line in enumerate(lines, start=1):
        assert re.fullmatch(rf"spd1: compiling kernel {number}, [\w ]+ \.\.\. \d+\.\d\d s", line)
    assert len(list(sandbox.cache.rglob("*.nbc"))) == len(lines)


def test_a_later_process_finds_the_kernels_on_disk(sandbox):
    before = sandbox.machine_code()
    assert sandbox.run(CERTIFY.format(loss='"squared"')) == (sandbox.first[0], "")
    assert sandbox.machine_code() == before


def test_a_users_class_is_never_written_to_disk(sandbox):
    """A process without the user's module could not read it back."""
    before = sandbox.machine_code()
    script = USERS_CLASS + CERTIFY.format(loss="Mine()")
    out, err = sandbox.run(script)
    assert float(out) == pytest.approx(float(sandbox.first[0]), rel=1e-13)
    assert "compiling kernels for Mine" in err
    assert sandbox.machine_code() == before
    assert sandbox.run(script, SPD1_QUIET="1") == (out, "")


def test_dates_of_files_do_not_matter(sandbox):
    """A fresh install or a checkout of the same code has new ones."""
    before = sandbox.machine_code()
    for source in sandbox.package.rglob("*.py"):
        os.utime(source, ns=(10**18, 10**18))
    assert sandbox.run(CERTIFY.format(loss='"squared"')) == (sandbox.first[0], "")
    assert sandbox.machine_code() == before


def test_an_edit_of_a_loss_is_noticed_by_its_kernels_alone(tmp_path):
    """Numba alone would look at the file of the kernel, not at that of the loss it calls."""
    box = Sandbox(tmp_path)
    scripts = [CERTIFY.format(loss=loss) for loss in ('"squared"', '"hinge"')]
    before, hinge = (float(box.run(script)[0]) for script in scripts)
    source = box.package / "losses" / "squared.py"
    stamp = source.stat()
    source.write_text(source.read_text().replace("0.5 * (u - b) * (u - b)", "99.0"))
    os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # contents count, not dates
    out, err = box.run(scripts[0])
    assert "for squared" in err
    assert "net_terms" not in err
    assert float(out) > before + 50.0
    out, err = box.run(scripts[1])
    assert float(out) == hinge
    assert "loss_terms" not in err  # best_between is: its file imports all losses


SOLVE = """
import numpy as np, spd1
rng = np.random.default_rng(0)
A = rng.standard_normal((60, 35))
b = np.where(A[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0)
problem = spd1.Problem(A, b, "hinge", spd1.L2(0.01), rng.random(60))
found = spd1.solve(problem, "rows", tol=1e-12, max_passes=40)
print(found.x.tobytes().hex(), found.gap.hex())
"""


def test_the_process_that_compiles_has_the_bits_of_those_that_load(sandbox):
    """A helper that is not inlined has a copy of its own, which only the first process calls."""
    first = sandbox.run(SOLVE)
    assert "compiling" in first[1]
    assert sandbox.run(SOLVE) == (first[0], "")


USERS_KERNEL = """
from spd1.kernel.jit import kernel

@kernel
def answer(x):
    return x + {number}
"""


def test_an_edited_kernel_outside_the_package_is_compiled_again(sandbox):
    module = sandbox.root / "users_kernel.py"
    for number in (1.0, 2.0):
        module.write_text(USERS_KERNEL.format(number=number))
        os.utime(module, ns=(int(number) * 10**18, int(number) * 10**18))
        out, _ = sandbox.run("import users_kernel; print(users_kernel.answer(40.0))")
        assert float(out) == 40.0 + number


def test_kernels_run_as_plain_python_when_numba_is_switched_off(sandbox):
    """Slow, but it lets a debugger and a coverage tool see every line."""
    out, err = sandbox.run(CERTIFY.format(loss='"squared"'), NUMBA_DISABLE_JIT="1")
    assert float(out) == pytest.approx(float(sandbox.first[0]), rel=1e-13)
    assert err == ""


def test_import_is_light(sandbox):
    heavy = ("numba", "sklearn", "pandas", "matplotlib", "scipy.optimize")
    out, err = sandbox.run(f"import sys, spd1; print([m for m in {heavy} if m in sys.modules])")
    assert (out, err) == ("[]\n", "")


def test_cached_kernels_survive_read_only_and_writable_data():
    """One compiled kernel serves both: views are always read-only."""
    A = np.arange(6.0).reshape(3, 2)
    writable = spd1.Problem(A, [1.0, 2.0, 3.0], "squared", spd1.L2(0.1))
    A = A.copy()
    A.flags.writeable = False
    frozen = spd1.Problem(A, [1.0, 2.0, 3.0], "squared", spd1.L2(0.1))
    from spd1.data.products import dot_lines

    writable.primal([1.0, 1.0])
    count = len(dot_lines.signatures)
    assert frozen.primal([1.0, 1.0]) == writable.primal([1.0, 1.0])
    assert len(dot_lines.signatures) == count


# A damaged cache


def cut_off(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    os.truncate(path, 0)


def garbage(path):
    path.write_bytes(os.urandom(500))


def wrong_pickle(path):
    path.write_bytes(pickle.dumps(("0.1", ["nothing"])))


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def folder(path):
    path.unlink()
    path.mkdir()


def unreadable(path):
    path.chmod(0)
    if os.access(path, os.R_OK):
        empty(path)  # root reads everything


def numbas_own(path):
    """What Numba without our checksum would have written: its version, then the rest."""
    path.write_bytes(pickle.dumps("0.60.0") + pickle.dumps((("stamp", 1), {})))


def of_another_kernel(path):
    """A file whose checksum is right."""
    twin = next(p for p in path.parent.glob(f"*{path.suffix}") if p != path)
    path.write_bytes(twin.read_bytes())


DAMAGES = [cut_off, empty, garbage, wrong_pickle, flipped, folder, unreadable, numbas_own,
           of_another_kernel]  # fmt: skip

TWO_KERNELS = """
def answer(x):
    return x + 1.0

def other(x):
    return x + 2.0
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two functions of a file, compiled into a cache of their own."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SPD1_QUIET", "1")
    (tmp_path / "two_kernels.py").write_text(TWO_KERNELS)
    spec = importlib.util.spec_from_file_location("two_kernels", tmp_path / "two_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "two_kernels", module)
    assert (kernel(module.answer)(40.0), kernel(module.other)(40.0)) == (41.0, 42.0)
    return module


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_is_compiled_anew_and_replaced(two, tmp_path, damage, suffix):
    [path] = tmp_path.rglob(f"two_kernels.answer*.{suffix}")
    damage(path)
    again = kernel(two.answer)
    assert again(40.0) == 41.0
    assert not again.stats.cache_hits
    third = kernel(two.answer)
    assert third(40.0) == 41.0
    assert third.stats.cache_hits
    assert not [path for path in tmp_path.rglob("*") if ".tmp." in path.name]


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_a_full_folder_in_place_of_the_cache_is_left_alone(two, tmp_path):
    [path] = tmp_path.rglob("two_kernels.answer*.nbi")
    folder(path)
    (path / "precious").write_text("")
    assert kernel(two.answer)(40.0) == 41.0
    assert os.listdir(path) == ["precious"]


@pytest.mark.slow
def test_a_cache_damaged_all_over_is_no_obstacle(sandbox):
    script = CERTIFY.format(loss='"squared"')
    rounds = itertools.cycle([cut_off, empty, garbage, wrong_pickle, flipped, folder, unreadable])
    for path in sorted(sandbox.machine_code()):
        next(rounds)(path)
    out, err = sandbox.run(script)
    assert out == sandbox.first[0]
    assert err.startswith("spd1: compiling kernels, once on this machine: a few seconds\n")
    assert sandbox.run(script) == (sandbox.first[0], "")


NO_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
import users_kernel
print(users_kernel.answer(40.0))
"""


def test_a_full_disk_is_no_obstacle(sandbox, tmp_path):
    (sandbox.root / "users_kernel.py").write_text(USERS_KERNEL.format(number=1.0))
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "full"), "PYTHONDONTWRITEBYTECODE": "1"}
    out, err = sandbox.run(NO_DISK, **place)
    assert float(out) == 41.0
    assert err.count("spd1: compiling") == 2  # why, and the kernel; nothing of the disk
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_without_a_folder_for_the_cache_there_is_none(sandbox, tmp_path):
    """Root may write everywhere, so what is named as a folder is a file."""
    (tmp_path / "file").write_text("")
    (sandbox.root / "users_kernel.py").write_text(USERS_KERNEL.format(number=1.0))
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    out, _ = sandbox.run("import users_kernel; print(users_kernel.answer(40.0))", **place)
    assert float(out) == 41.0
    assert os.listdir(tmp_path) == ["file"]
