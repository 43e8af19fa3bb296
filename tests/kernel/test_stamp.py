"""What a kernel is made of: files by content, and those alone that can matter."""

from __future__ import annotations

import pytest

from spd1.kernel import stamp
from spd1.terms import loss_terms, net_terms
from test_rooms import imported, modules


class Type:
    """A Numba type as far as stamps look: a class, and the types of its fields."""

    def __init__(self, cls, *fields):
        self.instance_class, self.fields = cls, fields

    def __iter__(self):
        return iter(self.fields)


def test_imports_are_those_that_a_parser_finds():
    known = modules()
    for name, path in known.items():
        if name:
            wanted = {f"spd1.{target}" for _, target in imported(name, path, known) if target}
            assert stamp._contents(f"spd1.{name}")[1] == wanted, name


def test_a_kernel_depends_on_what_it_imports_and_on_its_arguments():
    from spd1.losses import Hinge, Logistic

    kinds = [[Type(Hinge)], [Type(Logistic)], [Type(Type, Type(Logistic))], []]
    stamps = [stamp.stamp_of(loss_terms.py_func, types) for types in kinds]
    assert len(set(stamps)) == 3  # a class outside adds nothing, what is inside of it does
    assert stamps[1] == stamps[2]
    reached = stamp.reached_from({"spd1.losses.logistic"})
    assert {"spd1.losses.base", "spd1.kernel.elementary", "spd1.kernel.pieces"} <= reached
    assert "spd1.losses.hinge" not in reached


def test_no_kernel_depends_on_rooms_below_it():
    kernels = [name for name, path in modules().items() if "\n@kernel\n" in path.read_text()]
    assert len(kernels) > 15
    for name in kernels:
        for reached in stamp.reached_from({f"spd1.{name}"}):
            room = reached.split(".")[1]
            assert room not in ("cli", "linear_model", "reproduce", "models", "datasets", "loop")


def test_tuned_numbers_count():
    """Kernels have them compiled in."""
    assert "spd1.solvers.newton.tuning" in stamp.reached_from({"spd1.solvers.newton.few_rows"})


def test_classes_from_outside_are_named():
    class Mine:
        pass

    from spd1.losses import Hinge

    assert stamp.foreign_class([Type(Hinge), Type(Hinge, Type(Mine))]) == "Mine"
    assert stamp.foreign_class([Type(Hinge)]) == ""


def test_a_kernel_outside_depends_on_its_file_too(tmp_path, monkeypatch):
    source = tmp_path / "outside.py"
    stamps = []
    for text in ("def f(x): return x", "def f(x): return x  # again"):
        source.write_text(text)
        namespace = {"__name__": "outside"}
        exec(compile(text, str(source), "exec"), namespace)
        stamps.append(stamp.stamp_of(namespace["f"], []))
    assert stamps[0] != stamps[1]


def test_without_files_there_is_no_stamp():
    def kernel_of_a_frozen_program(x):
        return x

    kernel_of_a_frozen_program.__module__ = "spd1.nowhere"
    with pytest.raises(OSError, match="no file"):
        stamp.stamp_of(kernel_of_a_frozen_program, [])
    assert stamp.stamp_of(net_terms.py_func, [])
