"""The kernel that reads LIBSVM text, byte by byte.

A number leaves it as an integer and a power of ten: with at most 2**53 and 10**22 one division
or product in NumPy then gives the nearest double. Longer numbers are left to Python.
"""

from __future__ import annotations

import numpy as np

from ..kernel.jit import helper, kernel

LABEL, INDEX, PAIR, VALUE, LARGE_INDEX, QUERY = 1, 2, 3, 4, 5, 6
ERRORS = {
    LABEL: "the label {token!r} is not a number",
    INDEX: "the index in {token!r} is not a whole number",
    PAIR: "{token!r} is not of the form index:value",
    VALUE: "the value in {token!r} is not a finite number",
    LARGE_INDEX: "the index in {token!r} is too large",
    QUERY: "the query in {token!r} is not a whole number",
}
SPACE, TAB, RETURN, NEWLINE, HASH, COLON = 32, 9, 13, 10, 35, 58
PLUS, MINUS, POINT, ZERO, NINE, LOWER_E, UPPER_E = 43, 45, 46, 48, 57, 101, 69
LOWER_Q, LOWER_I, LOWER_D = 113, 105, 100
MOST_DIGITS, MOST_POWER, LARGEST_INDEX = 2**53, 22, 2**40


@helper
def token_end(text, start):
    """First byte after start that ends a token: white space, end of line or a comment."""
    p = start
    while p < len(text):
        c = text[p]
        if c in (SPACE, TAB, RETURN, NEWLINE, HASH):
            break
        p += 1
    return p


@helper
def number(text, start, end):
    """Return (kind, digits, power): kind 0 is no number, 1 is exact, 2 is for Python to read."""
    p, sign = start, 1
    if p < end and (text[p] == PLUS or text[p] == MINUS):
        sign = -1 if text[p] == MINUS else 1
        p += 1
    digits, power, seen, kind, after_point = np.int64(0), 0, 0, 1, False
    while p < end:
        c = text[p]
        if ZERO <= c <= NINE:
            seen += 1
            if digits > (MOST_DIGITS - 9) // 10:
                kind = 2
            else:
                digits = digits * 10 + (np.int64(c) - ZERO)
                power -= 1 if after_point else 0
        elif c == POINT and not after_point:
            after_point = True
        else:
            break
        p += 1
    if seen == 0:
        return 0, digits, power
    if p < end and (text[p] == LOWER_E or text[p] == UPPER_E):
        p += 1
        down = p < end and text[p] == MINUS
        if p < end and (text[p] == PLUS or text[p] == MINUS):
            p += 1
        first, exponent = p, 0
        while p < end and ZERO <= text[p] <= NINE:
            if exponent < 100_000:
                exponent = exponent * 10 + (int(text[p]) - ZERO)
            p += 1
        if p == first:
            return 0, digits, power
        power += -exponent if down else exponent
    if p != end:
        return 0, digits, power
    if abs(power) > MOST_POWER or (digits == 0 and sign < 0):
        kind = 2
    return kind, sign * digits, power


@helper
def whole(text, start, end):
    """A whole number without sign: -1 if it is none, -2 if it is too large."""
    if start == end:
        return np.int64(-1)
    value = np.int64(0)
    for p in range(start, end):
        if not ZERO <= text[p] <= NINE:
            return np.int64(-1)
        value = value * 10 + (np.int64(text[p]) - ZERO)
        if value > LARGEST_INDEX:
            return np.int64(-2)
    return value


@kernel
def parse(text, labels, queries, row_lines, row_ends, indices, numbers):
    """Read complete lines. ``numbers`` has rows (kind, digits, power, start, end), labels first.

    Returns (rows, entries, lines, error, start of the bad token): error 0 is none.
    """
    rows, entries, lines, p = 0, 0, 0, 0
    while p < len(text):
        lines += 1
        first = True
        while p < len(text) and text[p] != NEWLINE:
            c = text[p]
            if c in (SPACE, TAB, RETURN):
                p += 1
                continue
            if c == HASH:
                while p < len(text) and text[p] != NEWLINE:
                    p += 1
                break
            end = token_end(text, p)
            if first:
                kind, digits, power = number(text, p, end)
                if kind == 0:
                    return rows, entries, lines, LABEL, p
                labels[rows, 0], labels[rows, 1], labels[rows, 2] = kind, digits, power
                labels[rows, 3], labels[rows, 4] = p, end
                queries[rows], row_lines[rows] = -1, lines
                rows += 1
                first = False
                p = end
                continue
            colon = p
            while colon < end and text[colon] != COLON:
                colon += 1
            if colon == end:
                return rows, entries, lines, PAIR, p
            if (
                colon == p + 3
                and text[p] == LOWER_Q
                and text[p + 1] == LOWER_I
                and text[p + 2] == LOWER_D
            ):
                queries[rows - 1] = whole(text, colon + 1, end)
                if queries[rows - 1] < 0:
                    return rows, entries, lines, QUERY, p
                p = end
                continue
            index = whole(text, p, colon)
            if index < 0:
                return rows, entries, lines, INDEX if index == -1 else LARGE_INDEX, p
            kind, digits, power = number(text, colon + 1, end)
            if kind == 0:
                return rows, entries, lines, VALUE, p
            indices[entries] = index
            numbers[entries, 0], numbers[entries, 1], numbers[entries, 2] = kind, digits, power
            numbers[entries, 3], numbers[entries, 4] = colon + 1, end
            entries += 1
            p = end
        if not first:
            row_ends[rows - 1] = entries
        p += 1
    return rows, entries, lines, 0, 0
