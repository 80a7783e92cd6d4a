"""What a TU archive says its integers mean: the tables in `NAME_label_readme.txt`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTION = re.compile(r"^(node|edge|class) labels were converted", re.IGNORECASE)
_COMPONENT = re.compile(r"^component\s+(\d+)", re.IGNORECASE)
_VALUE_FIRST = re.compile(r"^(-?\d+)\s+(\S+)$")
_NAME_FIRST = re.compile(r"^(\S+)\s+(-?\d+)$")


@dataclass(frozen=True, kw_only=True)
class LabelMaps:
    """Names of integer labels; empty where the archive gives none.

    Args:
        nodes: Name of each value, one mapping for each component (column) of the node labels.
        edges: The same of edge labels.
        classes: Name of each class.
    """

    nodes: tuple[Mapping[int, str], ...] = ()
    edges: tuple[Mapping[int, str], ...] = ()
    classes: Mapping[int, str] = field(default_factory=dict)


def parse_label_maps(text: bytes) -> LabelMaps:
    """The maps in a readme.

    The collection writes rows as `0  C` in some archives and as `C 0` in others; a row of two integers is read the
    first way. Anything that is not understood is left out: names only serve reading.

    Args:
        text: Contents of `NAME_label_readme.txt`.
    """
    maps: dict[str, list[dict[int, str]]] = {"node": [], "edge": [], "class": []}
    section: str | None = None
    for raw in text.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if match := _SECTION.match(line):
            section = match[1].lower()
            maps[section] = [{}]
        elif line.startswith("==="):
            section = None
        elif section and (match := _COMPONENT.match(line)):
            maps[section].extend({} for _ in range(int(match[1][:2]) + 1 - len(maps[section])))
        elif section and (match := _VALUE_FIRST.match(line)):
            maps[section][-1].setdefault(int(match[1][:18]), match[2])
        elif section and (match := _NAME_FIRST.match(line)):
            maps[section][-1].setdefault(int(match[2][:18]), match[1])
    nodes, edges, classes = (tuple(maps[key]) if any(maps[key]) else () for key in ("node", "edge", "class"))
    return LabelMaps(nodes=nodes, edges=edges, classes=classes[0] if classes else {})
