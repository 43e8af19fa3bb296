"""The names under which wrong input is refused, always before any work starts.

And the one under which a run ends because machines have failed it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ClusterError",
    "DataError",
    "IncompatibleError",
    "ParameterError",
    "install",
    "suggestion",
]


class DataError(ValueError):
    """The data (matrix, labels, weights, starting point) can't be used as given."""


class ParameterError(ValueError):
    """A parameter has a value that means nothing here."""


class IncompatibleError(ValueError):
    """Each piece is fine, but not together: a method with a loss, or steps with a problem."""


class ClusterError(RuntimeError):
    """The machines of a cluster are gone, or did not answer in time."""


def suggestion(word: str, known: Iterable[str], also: dict[str, str] | None = None) -> str:
    """A question that names the nearest of the known words, or nothing where none is near.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable of str
    also : dict, optional
        What other packages call them.

    Examples
    --------
    >>> suggestion("squared-hinge", ["hinge", "squared_hinge"])
    "did you mean 'squared_hinge'? "
    >>> suggestion("mse", ["squared"], {"mse": "squared"})
    "did you mean 'squared'? "
    >>> suggestion("cubic", ["hinge"])
    ''
    """
    import difflib  # not above: only who has mistyped needs it

    named = {_folded(one): one for one in known}
    named |= {_folded(one): name for one, name in (also or {}).items()}
    near = difflib.get_close_matches(_folded(word), list(named), n=1, cutoff=0.7)
    return f"did you mean {named[near[0]]!r}? " if near else ""


def _folded(word: str) -> str:
    """Lower case, nothing between words: SquaredHinge, squared-hinge, squared_hinge are alike."""
    return "".join(letter for letter in str(word).lower() if letter.isalnum())


def install(what: str, extra: str) -> str:
    """How to install what an extra of this package brings, from a registry or a clone."""
    return (
        f"{what}: pip install 'spd1[{extra}]', or pip install '.[{extra}]' in a clone of the "
        "repository"
    )
