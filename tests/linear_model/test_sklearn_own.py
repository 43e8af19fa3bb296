"""scikit-learn's own tests can hardly tell our estimators from its own."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from linear_model import sklearn_own

LEAST = 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", sklearn_own.MODULES)
def test_what_fails_of_a_module_has_a_reason(name, tmp_path_factory):
    known = sklearn_own.reasons()
    rows = sklearn_own.run(sklearn_own.MODULES[name], seconds=60.0)
    lacking = [
        f"{row['test']}: {row['why']}"
        for row in rows
        if row["outcome"] == "failed" and not sklearn_own.reason_of(row["test"], known)
    ]
    count = sklearn_own.tally(rows, known)
    folder = tmp_path_factory.getbasetemp().parent
    (folder / f"sklearn_own_{name}.json").write_text(json.dumps(count))
    assert not lacking, "\n".join(lacking)


@pytest.mark.slow
def test_nine_tenths_of_all_modules_pass(tmp_path_factory):
    """After the modules above have run; the list says why single ones are below."""
    folder = tmp_path_factory.getbasetemp().parent
    files = [folder / f"sklearn_own_{name}.json" for name in sklearn_own.MODULES]
    if not all(file.exists() for file in files):
        pytest.skip("not all modules have run")
    total: Counter = Counter()
    for file in files:
        total.update(json.loads(file.read_text()))
    assert sklearn_own.share(total) >= LEAST


def test_counting():
    known = {"m.py::test_a": "all its parameters", "m.py::test_b[2]": sklearn_own.OTHERS}
    rows = [
        {"test": "m.py::test_a[1]", "outcome": "failed"},
        {"test": "m.py::test_a[2]", "outcome": "passed"},
        {"test": "m.py::test_b[1]", "outcome": "failed"},
        {"test": "m.py::test_b[2]", "outcome": "failed"},
        {"test": "m.py::test_c", "outcome": "skipped"},
    ]
    count = sklearn_own.tally(rows, known)
    assert +count == Counter(passed=1, failed=1, unlisted=1, multinomial=1)
    assert sklearn_own.share(count) == pytest.approx(1 / 3)


def test_every_line_of_the_list_has_a_reason():
    known = sklearn_own.reasons()
    assert all("::test_" in test and reason.strip() for test, reason in known.items())
