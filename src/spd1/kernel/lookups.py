"""Types of products, sums and comparisons, looked up once.

Numba tries a dozen templates for every one of them, and finds the same.

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import signature
from numba.cpython.builtins import do_minmax

__all__ = ["remembered"]

PLAIN_TYPES = (types.Number, types.Boolean, types.Array)
SAME_TYPES = {bool, abs, len, range}  # as operators: types follow from those of numbers and arrays


def larger(x, y):
    """What lowering knows max of two numbers by."""


def smaller(x, y):
    """What lowering knows min of two numbers by."""


EXTREMES = {max: larger, min: smaller}
TWO_ALIKE = ([types.float64] * 2, [types.int64] * 2)

# Numba compiles max and min as functions with any number of arguments, for every pair of types.
for one, two in TWO_ALIKE:
    for extreme, better in ((larger, operator.gt), (smaller, operator.lt)):
        lower_builtin(extreme, one, two)(
            lambda context, builder, sig, args, better=better: do_minmax(
                context, builder, sig.args, args, better
            )
        )

SIGNATURES: dict[Any, Any] = {}  # of operators, by the types of numbers and arrays they are for


def is_plain(kind: Any) -> bool:
    """Whether a type is a number, an array, or a tuple of numbers."""
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        return all(isinstance(one, types.Number) for one in members.types)
    return isinstance(kind, PLAIN_TYPES)


@contextmanager
def remembered(context: Any) -> Iterator[None]:
    """Let Numba look up products and sums once: it tries a dozen templates every time."""
    if "resolve_function_type" in vars(context):  # for the caller of what is compiled now
        yield
        return
    look_up = context.resolve_function_type

    def resolve(function: Any, arguments: Any, named: Any) -> Any:
        extreme = getattr(function, "typing_key", None) in EXTREMES and not named
        kinds = [types.unliteral(one) for one in arguments] if extreme else []
        if kinds in TWO_ALIKE:
            found = signature(kinds[0], *kinds)
            function._impl_keys[found.args] = EXTREMES[function.typing_key]
            return found
        name = getattr(function, "typing_key", function)
        always_alike = name in SAME_TYPES or getattr(name, "__module__", "") == "_operator"
        of_tuple = isinstance(arguments[0], types.BaseTuple) if arguments else True
        if named or of_tuple or not (always_alike and all(map(is_plain, arguments))):
            return look_up(function, arguments, named)
        kinds = [types.unliteral(one) for one in arguments]  # arguments, if they are arrays
        key = name, tuple(kinds)
        found = SIGNATURES.get(key)
        known = function if isinstance(function, types.Type) else context._lookup_global(function)
        if found is None or found.args not in getattr(known, "_impl_keys", ()):
            found = SIGNATURES[key] = look_up(function, tuple(kinds), named)
        return found

    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type
