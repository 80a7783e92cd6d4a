"""Integers out of text, for files too long for anything slower."""

from __future__ import annotations

import numba
import numpy as np

_MOST_DIGITS = 18
_NEWLINE, _COMMA, _PLUS, _MINUS, _ZERO, _NINE = 10, 44, 43, 45, 48, 57
_BLANKS = (32, 9, 13)


@numba.njit(cache=True, nogil=True)
def parse_integers(text, columns):  # type: ignore[no-untyped-def]
    """Lines of comma-separated integers, `[rows, columns]`, blank lines left out.

    Args:
        text: Whole lines, `[bytes]`.
        columns: Integers of a line.

    Returns:
        The rows up to the first that is no such line, and whether there is one.
    """
    most = 1
    for byte in text:
        most += byte == _NEWLINE
    rows = np.empty((most, columns), np.int64)
    count, column, digits, value, sign, ended, good = 0, 0, 0, 0, 0, False, True
    for place in range(len(text) + 1):
        byte = text[place] if place < len(text) else _NEWLINE
        if _ZERO <= byte <= _NINE:
            good = good and not ended and digits < _MOST_DIGITS
            value = 10 * value + (byte - _ZERO)
            digits += 1
        elif byte == _COMMA or byte == _NEWLINE:
            if byte == _NEWLINE and column == 0 and digits == 0 and sign == 0:
                continue
            good = good and digits > 0 and (column == columns - 1 if byte == _NEWLINE else column < columns - 1)
            if not good:
                return rows[:count], True
            rows[count, column] = -value if sign < 0 else value
            column += 1
            digits, value, sign, ended = 0, 0, 0, False
            if byte == _NEWLINE:
                count += 1
                column = 0
        elif byte == _PLUS or byte == _MINUS:
            good = good and digits == 0 and sign == 0
            sign = -1 if byte == _MINUS else 1
        elif byte in _BLANKS:
            ended = digits > 0
            good = good and not (sign != 0 and digits == 0)
        else:
            good = False
        if not good:
            return rows[:count], True
    return rows[:count], False
