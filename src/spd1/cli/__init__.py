"""The command line: ``spd1 --help`` teaches it. Nothing here is loaded by ``import spd1``."""

from __future__ import annotations

import signal
import sys
from typing import Any, NoReturn

__all__ = ["main"]

ABORTED = 1  # what the parser of the command line ends with when a signal reaches it


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it with a sentence and 128 + their number."""
    caught: list[int] = []

    def stop(number: int, frame: Any) -> NoReturn:
        caught.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(number, stop)
    try:
        from .app import app
        from .exits import INTERRUPTED

        app()
    except SystemExit as leaving:
        if not caught or leaving.code not in (ABORTED, INTERRUPTED):
            raise
        sys.exit(128 + caught[0])
    except KeyboardInterrupt:  # while modules are loaded
        print("spd1: interrupted before there was anything to save", file=sys.stderr)
        sys.exit(128 + (caught or [signal.SIGINT])[0])
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # all is done but leaving
            signal.signal(number, signal.SIG_IGN)
