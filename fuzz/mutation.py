"""Valid inputs made hostile: bytes flipped and cut, fields swapped, numbers at their limits, JSON of the wrong shape."""

from __future__ import annotations

import copy
import json
from typing import Any

from fuzz.choices import Choices

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 255, 1.5, -0.0, 1e-320, 1e38, 1e39, 1e300, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
    2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400,
)  # fmt: skip

TEXTS = (
    "", " ", "\n", "\r", "a\nb", "\x00", "\x0b", "\x1c", "\x85", "\u2028", "\ud800", "\ufeff", "\x1b[2J", "٣", "１", "é",
    "nan", "inf", "-", "+1", "1_000", "0x10", "1e3", "1.5", "..", "/", "C", "x" * 300, "1" * 5000, "=1+1", "%s{0}",
)  # fmt: skip

DEEP = "<deep>"
"""Stands for lists within lists until the text is written."""

_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": None}, [0, 0], DEEP, *NUMBERS, *TEXTS)


def mutated_bytes(choices: Choices, data: bytes) -> bytes:
    """Bytes flipped, cut, repeated or moved, in one place or a few."""
    for _ in range(1 + choices.below(3)):
        start, stop = choices.span(len(data))
        part = data[start:stop]
        match choices.below(7):
            case 0:
                data = data[:start] + bytes(byte ^ 1 << choices.below(8) for byte in part) + data[stop:]
            case 1:
                data = data[:start] + data[stop:]
            case 2:
                data = data[:stop] + part * (1 + choices.below(3)) + data[stop:]
            case 3:
                data = data[:start]
            case 4:
                word = choices.one_of((b"\x00", b"\xff", b"\n", b"\r", b",", b'"', b"\xff\xff\xff\xff", b"\x00" * 8))
                data = data[:start] + word + data[stop:]
            case 5:
                data = data[:start] + str(choices.one_of(NUMBERS)).encode() + data[stop:]
            case _:
                place = choices.below(len(data) + 1)
                data = data[:place] + part + data[place:]
    return data


def mutated_table(choices: Choices, text: str, separator: str = ",") -> str:
    """Lines dropped, repeated or swapped, fields replaced by what does not belong there."""
    lines = text.split("\n")
    for _ in range(1 + choices.below(3)):
        place, other = choices.below(len(lines)), choices.below(len(lines))
        fields = lines[place].split(separator)
        match choices.below(7):
            case 0 if len(lines) > 1:
                del lines[place]
            case 1:
                lines.insert(place, lines[other])
            case 2:
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                lines[place] += choices.one_of((separator, "\r", " ", "\t", '"', separator * 50))
            case 4 if len(lines) > 1:  # a line end that only some readers know
                lines[place : place + 2] = [
                    choices.one_of(("\r", "\x0b", "\x1c", "\u2028")).join(lines[place : place + 2])
                ]
            case _:
                fields[choices.below(len(fields))] = str(choices.one_of(TEXTS if choices.chance(0.5) else NUMBERS))
                lines[place] = separator.join(fields)
    return "\n".join(lines)


def mutated_json(choices: Choices, document: Any) -> Any:
    """A copy with a value somewhere replaced, dropped, repeated, or swapped with another."""
    holder = [copy.deepcopy(document)]
    for _ in range(1 + choices.below(2)):
        box, key = _place(choices, holder)
        match choices.below(5):
            case 0 if box is not holder:
                del box[key]
            case 1 if isinstance(box, list) and box is not holder:
                box.insert(key, copy.deepcopy(box[key]))
            case 2:
                other, place = _place(choices, holder)
                box[key] = copy.deepcopy(other[place])
            case 3 if isinstance(box[key], int | float):
                box[key] += choices.one_of((1, -1, 0.5, 1e-9))
            case _:
                box[key] = copy.deepcopy(choices.one_of(_VALUES))  # what is put in may be changed in turn
    return holder[0]


def _place(choices: Choices, holder: list[Any]) -> tuple[Any, Any]:
    """A list or object somewhere in the document, and an index or key of it."""
    box, key = holder, 0
    while isinstance(box[key], list | dict) and box[key] and (box is holder or choices.chance(0.85)):
        box = box[key]
        key = choices.below(len(box)) if isinstance(box, list) else choices.one_of(list(box))
    return box, key


def json_bytes(choices: Choices, document: Any) -> bytes:
    """The document as text, nested as deep as it says."""
    depth = choices.one_of((50, 300, 800, 950, 5_000, 100_000))
    text = json.dumps(document).replace(f'"{DEEP}"', "[" * depth + "]" * depth)
    return text.encode("utf-8", "surrogatepass")
