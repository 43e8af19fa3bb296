"""What is said while kernels are compiled, and to whom."""

from __future__ import annotations

import io
import logging

import pytest

from spd1.kernel import announce


@pytest.fixture
def stderr(monkeypatch, capsys):
    """Standard error of a program that has set up no logging: pytest has."""
    monkeypatch.delenv("SPD1_QUIET", raising=False)
    monkeypatch.setattr(announce.LOGGER, "hasHandlers", lambda: False)
    monkeypatch.setattr(announce, "WITHOUT_LOGGING", announce.OneLine())
    return lambda: capsys.readouterr().err


@pytest.fixture
def tally(monkeypatch):
    monkeypatch.setattr(announce, "TALLY", announce.Tally())
    return announce.TALLY


def compile_two(tally):
    for name in ("first", "second on dense data"):
        tally.begin(name, "", True)
        tally.end()


def test_a_line_a_kernel_where_nobody_logs(stderr, tally):
    compile_two(tally)
    why, first, second = stderr().splitlines()
    assert "once on this machine" in why
    assert first.startswith("spd1: compiling kernel 1, first ... ")
    assert second.startswith("spd1: compiling kernel 2, second on dense data ... ")
    assert first.endswith(" s")
    assert (tally.compiled, tally.found) == (2, 0)


def test_a_kernel_that_fails_leaves_no_half_line(stderr, tally):
    tally.begin("fails", "", True)
    compile_two(tally)
    assert [line.startswith("spd1: ") for line in stderr().splitlines()] == [True] * 4


def test_who_logs_gets_records(tally, caplog, monkeypatch):
    monkeypatch.delenv("SPD1_QUIET", raising=False)
    with caplog.at_level(logging.INFO, logger="spd1"):
        compile_two(tally)
    assert [record.name for record in caplog.records] == ["spd1"] * 5
    assert caplog.records[1].getMessage() == "compiling kernel 1, first"
    assert caplog.records[2].getMessage().startswith("compiled first in ")


@pytest.mark.parametrize("way", ["SPD1_QUIET", "level", "disable", "watching"])
def test_it_can_be_silenced(stderr, tally, way, monkeypatch):
    monkeypatch.setattr(announce.LOGGER, "level", announce.LOGGER.level)
    if way == "SPD1_QUIET":
        monkeypatch.setenv("SPD1_QUIET", "1")
    elif way == "level":
        announce.LOGGER.level = logging.WARNING
    elif way == "disable":
        monkeypatch.setattr(announce.LOGGER.manager, "disable", logging.INFO)
    else:
        tally.watchers.append(lambda name, begins: None)
    compile_two(tally)
    assert stderr() == ""


def test_without_standard_error_nothing_happens(stderr, tally, monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):  # a program without a console
        monkeypatch.setattr(announce.sys, "stderr", stream)
        compile_two(tally)
    assert tally.compiled == 4


def test_users_classes_and_missing_folders_are_named(stderr, tally):
    tally.begin("first", "Mine", True)
    tally.begin("second", "", False)
    said = stderr()
    assert "compiling kernels for Mine (a class of yours: once in every process)" in said
    assert "no folder to keep them in" in said
