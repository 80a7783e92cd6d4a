"""The exception for input that cannot be used."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input at a boundary: names what is wrong, the rule, and what was got, in one line.

    Names may come from strangers' files, so whatever would break the line or drive a terminal is shown escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(char if char.isprintable() else ascii(char)[1:-1] for char in message))
