"""Prices of operations: measured once, kept, fixed on request; never a reason to fail."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest

from spd1.errors import ParameterError
from spd1.kernel import prices as module
from spd1.kernel.measure import stand_ins
from spd1.kernel.prices import (
    REFERENCE,
    REFERENCE_STAND_INS,
    Prices,
    kept,
    prices,
    rates,
    read,
    rounded,
    write,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "prices.json"


@pytest.fixture
def asked(monkeypatch):
    """Sets or removes the variable, and lets prices be found anew; afterwards all is as before."""

    def ask(value):
        if value is None:
            monkeypatch.delenv(module.PRICES, raising=False)
        else:
            monkeypatch.setenv(module.PRICES, str(value))
        prices.cache_clear()
        rates.cache_clear()
        return prices()

    yield ask
    prices.cache_clear()
    rates.cache_clear()


def times(factor):
    return {name: factor * value for name, value in REFERENCE_STAND_INS._asdict().items()}


def test_tests_run_with_the_reference_prices():
    assert prices() == REFERENCE
    assert rates() == (1.0,) * len(Prices._fields)


def test_stand_ins_are_seconds_of_every_price():
    found = stand_ins()
    assert set(found) == set(Prices._fields)
    assert all(0.0 < seconds < 1.0 for seconds in found.values())


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_a_machine_so_many_times_as_slow_has_such_prices(factor):
    for disturbance in (0.9, 1.1):
        found = rounded(times(factor * disturbance))
        assert found == pytest.approx([factor * price for price in REFERENCE])


@pytest.mark.parametrize("nonsense", [0.0, -1.0, math.nan, math.inf])
def test_seconds_that_make_no_sense_leave_the_reference(nonsense):
    assert rounded(times(1.0) | {"exp": nonsense}) == REFERENCE
    assert rounded({}) == REFERENCE


def test_a_disturbance_goes_so_far_and_no_further():
    assert max(rounded(times(1e6))) <= 8.01 * max(REFERENCE)


def test_measured_once_and_read_from_then_on(path, monkeypatch):
    runs = []

    def twice():
        runs.append(1)
        return rounded(times(2.0 * len(runs)))

    monkeypatch.setattr(module, "measured", twice)
    first = kept(path)
    assert first == pytest.approx([2.0 * price for price in REFERENCE])
    assert kept(path) == first
    assert len(runs) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # and nothing else is left


def test_who_comes_second_takes_the_prices_of_the_first(path, monkeypatch):
    def meanwhile():
        write(path, rounded(times(4.0)))
        return rounded(times(2.0))

    monkeypatch.setattr(module, "measured", meanwhile)
    assert kept(path) == rounded(times(4.0))


def damaged(content):
    whole = json.loads(content)
    other = {**whole["prices"], "exp": 1.4 * whole["prices"]["exp"]}
    return {
        "empty": "",
        "cut off": content[: len(content) // 2],
        "no object": "[1, 2]",
        "no prices": "{}",
        "another number": json.dumps({**whole, "prices": other}),
        "one lacks": json.dumps({**whole, "prices": {"exp": 1e-8}}),
        "a word": json.dumps({**whole, "prices": {**whole["prices"], "exp": "dear"}}),
        "bytes": "\x00\x01",
    }


@pytest.mark.parametrize("how", damaged(json.dumps({"prices": REFERENCE._asdict(), "sum": ""})))
def test_a_damaged_file_is_measured_anew_and_replaced(how, path, monkeypatch):
    write(path, rounded(times(2.0)))
    path.write_text(damaged(path.read_text())[how])
    assert read(path) is None
    monkeypatch.setattr(module, "measured", lambda: rounded(times(0.5)))
    assert kept(path) == read(path) == rounded(times(0.5))


def test_another_processor_has_prices_of_its_own(path, monkeypatch):
    write(path, rounded(times(2.0)))
    here = module.kept_at()
    monkeypatch.setattr(module, "processor", lambda: "of another make")
    assert read(path) is None
    assert here is None or module.kept_at() != here


def test_what_cannot_be_kept_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "measured", lambda: rounded(times(2.0)))
    assert kept(tmp_path / "file" / "prices.json") == REFERENCE


def test_a_file_fixes_the_prices(asked, tmp_path):
    mine = REFERENCE._asdict() | {"exp": 4e-8}
    (tmp_path / "mine.json").write_text(json.dumps({"prices": mine}))
    assert asked(tmp_path / "mine.json")._asdict() == mine
    assert rates().exp == 2.0
    assert rates().flop == 1.0


@pytest.mark.parametrize("content", [None, "", "{}", '{"prices": {"exp": 1}}'])
def test_a_file_without_prices_is_refused_by_name(content, asked, tmp_path):
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ParameterError, match=r"SPD1_PRICES=.*mine\.json.*'reference'"):
        asked(path)


def test_without_the_variable_they_are_kept_beside_the_kernels(asked, path, monkeypatch):
    monkeypatch.setattr(module, "kept_at", lambda: path)
    monkeypatch.setattr(module, "measured", lambda: rounded(times(2.0)))
    assert asked(None) == rounded(times(2.0)) == read(path)
    monkeypatch.setattr(module, "kept_at", lambda: None)
    assert asked(None) == REFERENCE


def test_two_processes_have_the_same_prices(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop(module.PRICES)
    command = [sys.executable, "-c", "from spd1.kernel.prices import prices; print(prices())"]
    said = [
        subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
    assert len(list(tmp_path.rglob("prices-*.json"))) == 1
