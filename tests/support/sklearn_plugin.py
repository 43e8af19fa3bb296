"""A pytest plugin: scikit-learn's own test modules, with our estimators under its names.

The module under test is imported once as it is, so that all of scikit-learn that it needs has its
own classes. Then the names of the estimators that spd1 offers are replaced where tests import them
from, and pytest imports the module anew. Nothing of scikit-learn is written down here.

Environment: ``SPD1_OWN_REPORT`` is the file for one JSON line a test; ``SPD1_OWN_SECONDS`` the
limit of a test; ``SPD1_OWN_THEIRS=1`` leaves scikit-learn's classes where they are.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import sys
import types

import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.base import BaseEstimator

import spd1.linear_model as ours

SECONDS = float(os.environ.get("SPD1_OWN_SECONDS", "60"))
REPORT = os.environ.get("SPD1_OWN_REPORT", os.devnull)
THEIRS = os.environ.get("SPD1_OWN_THEIRS") == "1"

OFFERED = {
    name: kind
    for name, kind in inspect.getmembers(ours, inspect.isclass)
    if issubclass(kind, BaseEstimator)
}


def pytest_load_initial_conftests(args):
    """Import the modules with scikit-learn's classes, then again, by pytest, with ours."""
    modules = [arg for arg in args if arg.startswith("sklearn.")]
    for name in modules:
        importlib.import_module(name)
        del sys.modules[name]
    lend_private_names()
    for home in (sklearn.linear_model, sklearn.svm):
        for name, kind in OFFERED.items():
            if hasattr(home, name) and not THEIRS:
                setattr(home, name, kind)


def lend_private_names():
    """What fixtures of test_glm.py ask an estimator for, to compute what they compare it with."""
    import sklearn.linear_model._glm as glm

    for name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"):
        if name in OFFERED:
            OFFERED[name]._get_loss = vars(getattr(glm, name))["_get_loss"]


def _names(function, seen):
    """Names that a function, and the functions of its module that it calls, use."""
    if not isinstance(function, types.FunctionType) or function in seen:
        return set()
    seen.add(function)
    codes, names = [function.__code__], set()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    for name in list(names):
        known = function.__globals__.get(name)
        if getattr(known, "__module__", None) == function.__module__:
            names |= _names(known, seen)
    return names


def _inside(value):
    """Names of the estimators in a parameter of a test."""
    if isinstance(value, type):
        return {value.__name__}
    if isinstance(value, BaseEstimator):
        return {type(value).__name__} | _inside(list(value.get_params().values()))
    if isinstance(value, (list, tuple, set)):
        return set().union(*map(_inside, value)) if value else set()
    if isinstance(value, dict):
        return _inside(list(value.values()))
    return set()


def mentioned(item):
    """The estimators of ours that a test mentions, in its code or among its parameters."""
    names = _names(inspect.unwrap(item.function), set())
    if hasattr(item, "callspec"):
        names |= _inside(item.callspec.params)
    return sorted(names & set(OFFERED))


def pytest_collection_modifyitems(config, items):
    """Leave out tests that mention no class of ours: they would only take time."""
    left_out = [item for item in items if not mentioned(item)]
    items[:] = [item for item in items if mentioned(item)]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """End a test that takes too long, by the clock of the processor."""

    def late(*_):
        raise TimeoutError(f"no answer in {SECONDS:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1.0)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Write one line for every test that has run, or could not be set up."""
    report = yield
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        why = ""
        if call.excinfo is not None:
            lines = str(call.excinfo.value).strip().splitlines() or [""]
            why = f"{call.excinfo.typename}: {' '.join(lines)[:300]}"
        row = {
            "test": f"{item.path.name}::{item.name}",
            "outcome": "xfailed" if hasattr(report, "wasxfail") else report.outcome,
            "classes": mentioned(item),
            "seconds": round(call.duration, 3),
            "why": why,
        }
        with open(REPORT, "a") as out:
            out.write(json.dumps(row) + "\n")
    return report
