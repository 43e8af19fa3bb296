"""scikit-learn's own test modules, run against our estimators under its names.

    PYTHONPATH=src:tests python tests/linear_model/sklearn_own.py [MODULE ...] [--seconds 20]

Each module of the installed scikit-learn runs in a process of its own (``support.sklearn_plugin``).
Counted are tests that mention a class we offer, in their code or among their parameters; those
that scikit-learn itself skips, or expects to fail, are not. Every test that still fails has a line
in ``sklearn_own.txt``: its id, or the name of its function for all its parameters, and the reason.
``--theirs`` runs the same tests on scikit-learn's own classes; ``--unlisted`` prints what the list
lacks, and what stands on it without need.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import sklearn

HERE = Path(__file__).parent
LIST = HERE / "sklearn_own.txt"
OTHERS = "multinomial: separate change"
MODULES = {
    "logistic": "sklearn.linear_model.tests.test_logistic",
    "ridge": "sklearn.linear_model.tests.test_ridge",
    "coordinate_descent": "sklearn.linear_model.tests.test_coordinate_descent",
    "sparse_coordinate_descent": "sklearn.linear_model.tests.test_sparse_coordinate_descent",
    "huber": "sklearn.linear_model.tests.test_huber",
    "quantile": "sklearn.linear_model.tests.test_quantile",
    "common": "sklearn.linear_model.tests.test_common",
    "glm": "sklearn.linear_model._glm.tests.test_glm",
    "svm": "sklearn.svm.tests.test_svm",
}


def run(module: str, seconds: float = 20.0, theirs: bool = False, limit: float = 3600.0) -> list:
    """Rows of one module's tests: test, outcome, classes, seconds, why."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        report.touch()
        root = Path(sklearn.__file__).parent
        environment = {
            **os.environ,
            "SPD1_OWN_REPORT": str(report),
            "SPD1_OWN_SECONDS": str(seconds),
            "SPD1_OWN_THEIRS": "1" if theirs else "0",
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, sys.path)]),
        }
        command = [
            sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "support.sklearn_plugin",
            "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(root), "--pyargs", module,
        ]  # fmt: skip
        done = subprocess.run(
            command, env=environment, timeout=limit, capture_output=True, text=True, check=False
        )
        rows = [json.loads(line) for line in report.read_text().splitlines()]
    if not rows:
        raise RuntimeError(f"{module} ran no test:\n{done.stdout}{done.stderr}")
    return rows


def reasons() -> dict[str, str]:
    """Test id, or name of a test function, -> why it fails."""
    found = {}
    for line in LIST.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            test, reason = line.split("\t")
            found[test] = reason
    return found


def reason_of(test: str, known: dict[str, str]) -> str | None:
    """Why a test fails, by its id or the name of its function."""
    return known.get(test) or known.get(test.split("[")[0])


def tally(rows: list, known: dict[str, str]) -> Counter:
    """How many passed, failed for a listed reason, failed otherwise, or wait for another change."""
    count: Counter = Counter()
    for row in rows:
        if row["outcome"] == "passed":
            count["passed"] += 1
        elif row["outcome"] == "failed":
            reason = reason_of(row["test"], known)
            count["failed" if reason else "unlisted"] += reason != OTHERS
            count["multinomial"] += reason == OTHERS
    return count


def share(count: Counter) -> float:
    """Passed among those that ran and don't wait for another change."""
    ran = count["passed"] + count["failed"] + count["unlisted"]
    return count["passed"] / ran if ran else 1.0


def main() -> None:
    """Print a line a module, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], default=[])
    parser.add_argument("--seconds", type=float, default=20.0, help="of processor time a test")
    parser.add_argument("--theirs", action="store_true")
    parser.add_argument("--unlisted", action="store_true")
    asked = parser.parse_args()
    known, total = reasons(), Counter()
    print(f"{'module':26}passed  failed  (not listed)  multinomial  share", flush=True)
    for name in asked.modules or MODULES:
        rows = run(MODULES[name], asked.seconds, asked.theirs)
        count = tally(rows, known)
        total += count
        show(name, count)
        if asked.unlisted:
            for row in rows:
                if row["outcome"] == "failed" and not reason_of(row["test"], known):
                    print(f"    {row['test']}\t{row['why'][:200]}")
                if row["outcome"] == "passed" and row["test"] in known:
                    print(f"    {row['test']}\tpasses, and is on the list")
    show("all", total)


def show(name: str, count: Counter) -> None:
    """One line."""
    failed = count["failed"] + count["unlisted"]
    print(
        f"{name:26}{count['passed']:6}{failed:8}{count['unlisted']:14}{count['multinomial']:13}"
        f"{100 * share(count):7.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
