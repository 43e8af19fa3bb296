"""Threads that stay inside one call of a kernel and share its work out among themselves.

A Python thread pool takes 30 to 250 us to hand something over. Here all threads are in the same
kernel, without the GIL. One of them *leads*: it posts some tasks, takes part in them and goes on
when all are done. The others take tasks until it is over.

Nobody waits for a thread that has not come: the leader does what the others leave. So any number of
threads, one too, comes to the end, and which of them did a task must not matter.

A *board* is an array of int64 that they share. Its ticket holds the number of the phase and how
many tasks of it are to be had: a ticket is only drawn if it is still the one that was read, so that
late comers never take a task of a phase that is over.
"""

from __future__ import annotations

import os
import platform
import threading
from typing import Any

import numpy as np

from .jit import helper, kernel
from .pieces import lesson

__all__ = [
    "TEAM_WORDS",
    "adjourn",
    "compiled_kernels",
    "complete",
    "draw",
    "new_board",
    "post",
    "task_done",
    "watch",
]

LINE = 8  # words of a cache line: what different threads write lies apart
TICKET, DONE, OVER, COUNT = 0, LINE, 2 * LINE, 3 * LINE
TEAM_WORDS = 4 * LINE  # of a board that are spoken for; what lies behind is the caller's
PHASE = 1 << 20  # a ticket is the number of the phase times this, and the tasks to be had
SPINS = 2_000  # looks at the board before a thread lets others have its core: about 50 us

_plain = threading.Lock()  # where kernels run as plain Python


def new_board(more: int = 0) -> np.ndarray:
    """A board with so many words for the caller, behind the first ``TEAM_WORDS``."""
    return np.zeros(TEAM_WORDS + max(more, 1), np.int64)


def peek(board: np.ndarray, at: int) -> int:
    """A word as others have left it."""
    return int(board[at])


def add_to(board: np.ndarray, at: int, value: int) -> int:
    """Add to a word in one piece; returns what it was."""
    with _plain:
        before = int(board[at])
        board[at] = before + value
    return before


def swap(board: np.ndarray, at: int, old: int, new: int) -> bool:
    """Write a word if it is still the old one; returns whether it was."""
    with _plain:
        same = int(board[at]) == old
        if same:
            board[at] = new
    return same


def relax(spins: int) -> None:
    """Wait for a moment; after many of them others may have the core."""
    if spins % SPINS == SPINS - 1 and hasattr(os, "sched_yield"):
        os.sched_yield()


@lesson
def _teach_atomics() -> None:
    """Teach Numba the four of them: instructions of the processor, and one call of the system."""
    from llvmlite import ir
    from numba import extending, types
    from numba.core import cgutils

    intrinsic: Any = extending.intrinsic
    word = ir.IntType(64)
    known = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}
    pause = known.get(platform.machine(), "")  # elsewhere a thread waits without

    def place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, arguments[0])
        return cgutils.get_item_pointer(
            context, builder, kind, array, [arguments[1]], wraparound=False
        )

    @intrinsic
    def load(typing, board, at):
        def generate(context, builder, signature, arguments):
            where = place(context, builder, signature, arguments)
            return builder.load_atomic(where, "acquire", 8)

        return types.int64(board, types.int64), generate

    @intrinsic
    def fetch_add(typing, board, at, value):
        def generate(context, builder, signature, arguments):
            where = place(context, builder, signature, arguments)
            return builder.atomic_rmw("add", where, arguments[2], "acq_rel")

        return types.int64(board, types.int64, types.int64), generate

    @intrinsic
    def exchange(typing, board, at, old, new):
        def generate(context, builder, signature, arguments):
            where = place(context, builder, signature, arguments)
            found = builder.cmpxchg(where, arguments[2], arguments[3], "acq_rel", "acquire")
            return builder.extract_value(found, 1)

        return types.boolean(board, types.int64, types.int64, types.int64), generate

    @intrinsic
    def hold(typing, spins):
        def generate(context, builder, signature, arguments):
            if pause:
                nothing = ir.FunctionType(ir.VoidType(), [])
                builder.call(cgutils.get_or_insert_function(builder.module, nothing, pause), ())
            if hasattr(os, "sched_yield"):
                limit = ir.Constant(word, SPINS)
                last = builder.icmp_signed(
                    "==", builder.srem(arguments[0], limit), ir.Constant(word, SPINS - 1)
                )
                with builder.if_then(last, likely=False):
                    kind = ir.FunctionType(ir.IntType(32), [])
                    name = "sched_yield"
                    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), ())
            return context.get_dummy_value()

        return types.void(types.int64), generate

    extending.overload(peek)(lambda board, at: lambda board, at: load(board, at))
    extending.overload(add_to)(
        lambda board, at, value: lambda board, at, value: fetch_add(board, at, value)
    )
    extending.overload(swap)(
        lambda board, at, old, new: lambda board, at, old, new: exchange(board, at, old, new)
    )
    extending.overload(relax)(lambda spins: lambda spins: hold(spins))


@helper
def post(board, tasks):
    """Offer so many tasks; whatever else the board says of them was written before."""
    board[COUNT] = tasks
    board[DONE] = 0
    before = peek(board, TICKET)
    phase = before // PHASE + 1
    add_to(board, TICKET, phase * PHASE + tasks - before)


@helper
def draw(board, leads):
    """The number of a task, or -1: there is none left for the leader, or it is over for others."""
    spins = 0
    while True:
        ticket = peek(board, TICKET)
        left = ticket % PHASE
        if left > 0:
            if swap(board, TICKET, ticket, ticket - 1):
                return board[COUNT] - left
        elif leads or peek(board, OVER) > 0:
            return -1
        else:
            relax(spins)
            spins += 1


@helper
def task_done(board):
    """Say that a task is done: what was written for it is seen by whoever goes on."""
    add_to(board, DONE, 1)


@helper
def complete(board):
    """Wait, as the leader, until all tasks are done."""
    spins = 0
    while peek(board, DONE) < board[COUNT]:
        relax(spins)
        spins += 1


@helper
def adjourn(board):
    """Send everybody home."""
    add_to(board, OVER, 1)


@kernel
def watch(words, seen, looks):
    """Wait until the first word is no longer what was seen, so many looks at most."""
    spins = 0
    while spins < looks and peek(words, 0) == seen:
        relax(spins)
        spins += 1


def compiled_kernels() -> bool:
    """Whether kernels are machine code: plain Python that waits would keep all others waiting."""
    from numba import config

    settings: Any = config
    return not settings.DISABLE_JIT
