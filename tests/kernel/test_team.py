"""Threads that stay inside one kernel: every task once, whoever comes, and whenever."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from spd1.engines.threads import Threads
from spd1.kernel.jit import kernel
from spd1.kernel.team import TEAM_WORDS, adjourn, complete, draw, new_board, post, task_done


@kernel
def count_tasks(leads, phases, board, seen, last):
    """Phase p has p % 7 tasks; task k of it adds p to place k, and must find phase p - 1 done."""
    phase = 0
    while True:
        if leads:
            if phase == phases:
                break
            phase += 1
            board[TEAM_WORDS] = phase
            post(board, phase % 7)
        k = draw(board, leads)
        while k >= 0:
            now = board[TEAM_WORDS]
            seen[k] += now
            last[k] = now
            task_done(board)
            k = draw(board, leads)
        if not leads:
            break
        complete(board)
        for k in range(phase % 7):
            if last[k] != phase:
                seen[0] = -(2**40)  # a task of this phase was not done, or not seen to be
    if leads:
        adjourn(board)


def expected(phases):
    places = np.zeros(7, np.int64)
    for phase in range(1, phases + 1):
        places[: phase % 7] += phase
    return places


@pytest.mark.plain
@pytest.mark.parametrize("n_threads", [1, 2, 4, 8])
def test_every_task_is_done_once_before_the_next_phase(n_threads):
    phases = 400
    board, seen, last = new_board(1), np.zeros(7, np.int64), np.zeros(7, np.int64)
    with Threads(n_threads) as engine:
        engine.map(lambda me: count_tasks(me == 0, phases, board, seen, last), range(n_threads))
    np.testing.assert_array_equal(seen, expected(phases))


def test_a_leader_waits_for_nobody():
    """Others that come when all is over go home, and a leader without others does it all."""
    board, seen, last = new_board(1), np.zeros(7, np.int64), np.zeros(7, np.int64)
    count_tasks(True, 50, board, seen, last)
    np.testing.assert_array_equal(seen, expected(50))
    count_tasks(False, 50, board, seen, last)
    np.testing.assert_array_equal(seen, expected(50))


def test_threads_that_come_late_take_part():
    """A helper joins while the leader is at work: nothing is done twice, nothing left out."""
    for wait in (0.0, 1e-4, 1e-3):
        board, seen, last = new_board(1), np.zeros(7, np.int64), np.zeros(7, np.int64)
        leader = threading.Thread(target=count_tasks, args=(True, 20_000, board, seen, last))
        leader.start()
        threading.Event().wait(wait)
        count_tasks(False, 20_000, board, seen, last)
        leader.join()
        np.testing.assert_array_equal(seen, expected(20_000))
