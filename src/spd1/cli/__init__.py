"""The command line: ``spd1 --help`` teaches it. Nothing here is loaded by ``import spd1``."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from .app import app

    app()
