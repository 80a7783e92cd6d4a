"""A JSON document whose values know their place in it, so that whatever is wrong can be named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from comrecgc.errors import InputError

T = TypeVar("T")

_LARGEST = 1e300


class Entry:
    """A value in a JSON document, with its place."""

    def __init__(self, value: Any, place: str = "") -> None:
        self.value = value
        self.place = place

    def __getitem__(self, key: str) -> Entry:
        if not isinstance(self.value, dict):
            raise self.error("must be an object")
        name = key if key.isidentifier() else repr(key)[:60]
        place = f"{self.place}.{name}" if self.place else name
        if key not in self.value:
            raise InputError(f"{place} is missing")
        return Entry(self.value[key], place)

    def get(self, key: str) -> Entry | None:
        """The value under a key, None where it is missing or null."""
        return self[key] if isinstance(self.value, dict) and self.value.get(key) is not None else None

    def values(self) -> list[Any]:
        if not isinstance(self.value, list):
            raise self.error("must be a list")
        return self.value

    def items(self) -> list[Entry]:
        return [Entry(value, f"{self.place}[{index}]") for index, value in enumerate(self.values())]

    def mapping(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error("must be an object")
        return self.value

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or abs(self.value) >= 2**31:
            raise self.error("must be an integer of 32 bits")
        return self.value

    def integers(self) -> list[int]:
        """A list of integers; checked at one go, since graphs hold most of a file."""
        values = self.values()
        if not all(type(value) is int and abs(value) < 2**31 for value in values):
            return [item.integer() for item in self.items()]
        return values

    def number(self) -> float:
        if not isinstance(self.value, int | float) or isinstance(self.value, bool) or not abs(self.value) <= _LARGEST:
            raise self.error("must be a finite number")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error("must be text")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.error("must be true or false")
        return self.value

    def made(self, make: Callable[[], T]) -> T:
        """What `make` returns; its complaint gets this place."""
        try:
            return make()
        except InputError as error:
            raise InputError(f"{self.place}: {error}") from error

    def error(self, rule: str) -> InputError:
        return InputError(f"{self.place or 'the document'} {rule} (got {self.value!r:.60})")


def parse_json(text: bytes) -> Any:
    """A JSON document without NaN and infinities."""
    try:
        return json.loads(text.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}".splitlines()[0]) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
