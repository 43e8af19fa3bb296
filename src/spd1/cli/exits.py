"""Exit codes, and the one place where errors become messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from ..errors import DataError, IncompatibleError, ParameterError

__all__ = ["CODES", "INTERRUPTED", "NOT_REACHED", "USAGE", "fail", "guarded", "notes"]

USAGE, DATA, NOT_REACHED, MISSING, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143
CODES = {
    0: "done; for fit and certify: the gap asked for is proven",
    1: "a bug: please report the traceback",
    USAGE: "the command, an option or a combination of them is wrong",
    DATA: "a file is missing, unreadable, broken or does not fit",
    NOT_REACHED: "stopped at a limit before the gap asked for was proven; the model is saved",
    MISSING: "an optional package or a download is missing; the message says what to do",
    INTERRUPTED: "Ctrl-C; fit has saved the best model if a step was taken, and nothing otherwise; "
    "with --checkpoint that is written, too",
    TERMINATED: "SIGTERM; as for Ctrl-C",
}

Command = TypeVar("Command", bound=Callable[..., Any])


def notes() -> Console:
    """Where messages and progress go: standard error, so that output can be piped."""
    return Console(stderr=True, highlight=False)


def guarded(command: Command) -> Command:
    """Let a command end with one sentence and an exit code instead of a traceback."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (ParameterError, IncompatibleError) as error:
            fail(error, USAGE)
        except (DataError, MemoryError) as error:
            fail(error if str(error) else "out of memory", DATA)
        except BrokenPipeError:
            raise  # the reader, such as head, has seen enough: no error of ours
        except (ImportError, ConnectionError) as error:
            fail(error, MISSING)
        except OSError as error:  # a full disk, for one
            place = f"{error.filename}: " if error.filename else ""
            fail(f"{place}{error.strerror or error}", DATA)
        except KeyboardInterrupt:
            fail("interrupted before there was anything to save", INTERRUPTED)

    return wrapper  # type: ignore[return-value]


def fail(message: Any, code: int) -> NoReturn:
    """Say what is wrong and leave."""
    console = notes()
    text = Text.assemble(("spd1:", "bold red"), " ", str(message))
    console.print(text, soft_wrap=not console.is_terminal)
    raise typer.Exit(code)
