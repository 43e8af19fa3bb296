"""The methods by name. Modules are imported when a method is asked for: they hold kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import IncompatibleError, ParameterError, suggestion

if TYPE_CHECKING:
    from .base import Method

__all__ = ["FAMILY_METHODS", "METHODS", "build", "builder", "method_class"]

#: Name -> module and class. A new method is one file and one line here; the tests pick it up.
METHODS = {
    "rows": ("rows.rows", "RowTiles"),
    "columns": ("columns", "ColumnTiles"),
    "spd1-vr": ("entries.spd1_vr", "SPD1VR"),
    "spd1": ("entries.spd1", "SPD1"),
    "psgd": ("gradient.psgd", "PSGD"),
    "svrg": ("gradient.svrg", "SVRG"),
    "saga": ("gradient.saga", "SAGA"),
}

#: Methods for some problems only; they refuse the others by name. ``auto`` knows when to call them.
SPECIAL_METHODS = {
    "newton": ("newton.newton", "Newton"),
    "few-rows": ("newton.few_rows", "FewRows"),
    "interior": ("interior.interior", "Interior"),
}

#: What the paper names beside its own, and what it leaves open: docs/laboratory/family.md.
FAMILY_METHODS = {
    "spd1-vr-acc": ("entries.spd1_vr_acc", "AcceleratedSPD1VR"),
    "spd1-vr-catalyst": ("entries.spd1_vr_catalyst", "CatalystSPD1VR"),
    "sdca": ("family.sdca", "SDCA"),
    "asdca": ("family.asdca", "ASDCA"),
    "spdc": ("family.spdc", "SPDC"),
    "spdhg": ("family.spdhg", "SPDHG"),
    "rpd": ("family.rpd", "RPD"),
    "svrg-saddle": ("family.svrg_saddle", "SVRGSaddle"),
    "svrg-saddle-acc": ("family.svrg_saddle_acc", "SVRGSaddleAcc"),
    "saga-saddle": ("family.saga_saddle", "SAGASaddle"),
    "katyusha": ("family.katyusha", "Katyusha"),
    "dspdc": ("family.dspdc", "DSPDC"),
    "s2cd": ("family.s2cd", "S2CD"),
    "chambolle-pock": ("family.chambolle_pock", "ChambollePock"),
    "extragradient": ("family.extragradient", "Extragradient"),
    "pdlp": ("family.pdlp", "PDLP"),
}

#: Methods for one kind of problem each.
DIRECT_METHODS = {
    "direct": ("direct", "Direct"),
    "ascent": ("sprint.methods", "Ascent"),
    "descent": ("sprint.methods", "Descent"),
    "newton-cg": ("sprint.methods", "NewtonCG"),
    "newton-gram": ("sprint.methods", "NewtonGram"),
    "multipliers": ("multipliers", "Multipliers"),
    "learnt": ("newton.learnt", "Learnt"),
}

#: What other packages call methods of ours, or what does the same for them.
FOREIGN_METHODS = {
    "lbfgs": "auto", "liblinear": "auto", "newton-cholesky": "newton-gram", "tron": "newton-cg",
    "sag": "saga", "sgd": "psgd", "cd": "descent", "coordinate-descent": "descent",
    "cholesky": "direct", "svd": "direct", "lsqr": "direct", "default": "auto",
    "ipm": "interior", "cp": "chambolle-pock", "pdhg": "chambolle-pock",
}  # fmt: skip

METHOD_ADVICE = re.compile(r"use method '[^']*'(, '[^']*'| or ')?")

#: The forms that tile methods have on data that is cut into several tiles.
CUT_FORMS = {
    "rows": ("rows.cut", "CutRows"),
    "spd1": ("entries.cut", "CutSPD1"),
    "spd1-vr": ("entries.cut", "CutSPD1VR"),
    "ascent": ("sprint.cut", "CutAscent"),
}

#: Methods that take the ``tile`` argument of ``solve``.
TILED = ("spd1", "spd1-vr", "spd1-vr-acc")


def method_class(name: str) -> type[Method]:
    """Return the class of a method, or say which names there are."""
    known = METHODS | FAMILY_METHODS | SPECIAL_METHODS | DIRECT_METHODS
    if name not in known:
        near = suggestion(name, ["auto", *known], FOREIGN_METHODS)
        raise ParameterError(
            f"unknown method {name!r}: {near}'auto' takes every problem; others are "
            f"{', '.join(known)}"
        )
    return _found(*known[name])


def auto_first(message: str) -> str:
    """A refusal that advises ``auto`` before any other method.

    Examples
    --------
    >>> auto_first("svrg needs a smooth loss: use method 'spd1-vr', 'spd1' or 'psgd'")
    "svrg needs a smooth loss: use method 'auto', 'spd1-vr', 'spd1' or 'psgd'"
    >>> auto_first("asdca needs a smooth loss: use method 'sdca'")
    "asdca needs a smooth loss: use method 'auto' or 'sdca'"
    """
    if "'auto'" in message:
        return message
    advice = METHOD_ADVICE.search(message)
    if advice is None:
        return f"{message}: use method 'auto'"
    comma = ", " if advice[1] else " or "
    return f"{message[: advice.start()]}use method 'auto'{comma}{message[advice.start() + 11 :]}"


def _found(module: str, cls: str) -> type[Method]:
    found: type[Method] = getattr(import_module(f".{module}", __package__), cls)
    return found


def builder(name: str, problem: Any, tile: Any, racing: bool = False) -> Callable[..., Method]:
    """What builds the method for a problem, on tiles if these are asked for; or a refusal."""
    kind = method_class(name)
    try:
        kind.refuse(problem)
    except IncompatibleError as error:
        raise IncompatibleError(auto_first(str(error))) from None
    if racing and not (kind.takes_races and tile is None and problem.grid.shape == (1, 1)):
        raise IncompatibleError(
            f"engine 'async', whose threads share all they write, takes 'rows', 'spd1' or "
            f"'spd1-vr' on data in one piece and without tile=, not this {name}: use engine "
            "'threads'"
        )
    cut = problem.grid.shape != (1, 1)
    if tile is None:
        return _found(*CUT_FORMS[name]) if cut and name in CUT_FORMS else kind
    if name not in TILED:
        raise ParameterError(f"method {name!r} has no tiles: use 'spd1-vr' or 'spd1'")
    if cut:
        raise IncompatibleError(
            f"tile= of {name} takes data in one piece, and this is cut into "
            f"{problem.grid.shape[0]} x {problem.grid.shape[1]} tiles: leave tile= or grid= out"
        )
    from .entries.tile_shapes import on_tiles

    return on_tiles(name, problem, tile)


def build(name: str, problem: Any, tile: Any, sampling: str, key: Any) -> Method:
    """The method on its own, with an account of its own."""
    return builder(name, problem, tile)(problem, sampling, key)
