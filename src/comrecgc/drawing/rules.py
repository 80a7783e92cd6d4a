"""A rule as one SVG picture: what it finds, an arrow, what it makes of it.

Atoms and nodes of both sides stand in the same places. What goes, comes and changes is marked as in the drawings of graphs; light dotted
lines say that a node may have further neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from comrecgc.drawing.pen import (
    STYLE,
    Point,
    atom_text,
    bond_lines,
    class_attribute,
    coordinate,
    depict,
    halo_of,
    layout_change,
)
from comrecgc.graphs import Graph, Pattern, Rule, Schema, components, ordered_edge
from comrecgc.molecules import BOND_NAMES, BOND_ORDERS, read_atom

Pair = tuple[int, int]

_MARGIN = 20.0
_ARROW = 46.0
_STUB = 0.66  # length of the dotted line at an open node, in edges
_MOLECULE_EDGE, _NET_EDGE = 36.0, 62.0  # nodes of other graphs carry their names
_GAP = 1.5  # between parts as they are laid out, in edges
_PART_GAP = 14.0  # and as they are drawn
_LONGEST_NAME = 12
_CHARACTER = 6.2  # width of a letter


def draw_rule(
    rule: Rule,
    schema: Schema,
    *,
    title: str = "",
    standalone: bool = False,
) -> str:
    """A rule as SVG.

    Args:
        rule: The rule.
        schema: What labels are called. Those of molecules are drawn as atoms; other nodes carry their names, unless there is only one label.
        title: What the picture is called for people who do not see it.
        standalone: Include the styles, for a file of its own; a page has them.
    """
    label_names, edge_label_names, is_molecular = schema.label_names, schema.edge_label_names, schema.is_molecular
    after_number = {new: old for old, new in rule.kept}
    for new in range(len(rule.after.labels)):
        after_number.setdefault(new, len(rule.before.labels) + new)
    names = [atom_text(name) for name in label_names] if is_molecular else label_names
    before = _Side(rule.before, {node: node for node in range(len(rule.before.labels))}, names, edge_label_names)
    after = _Side(rule.after, after_number, names, edge_label_names)
    positions = _positions(before, after, label_names, is_molecular=is_molecular)
    open_nodes = [node for node in range(len(rule.before.labels)) if not rule.closed[node]]
    if is_molecular:
        open_nodes = [node for node in open_nodes if not _is_full(before, node)]
    hydrogens = {node for node in open_nodes if is_molecular and before.names[node] == "H"}
    stubs = _stubs([node for node in open_nodes if node not in hydrogens], before, after, positions)
    both = before.names.keys() & after.names.keys()
    changed = {node: "other" for node in both if before.labels[node] != after.labels[node]}
    kept_edges = before.edges.keys() & after.edges.keys()
    rebonded = {edge for edge in kept_edges if before.edges[edge] != after.edges[edge]}
    draw_names = is_molecular or len(label_names) > 1
    halves = {
        node: 9.0 if is_molecular or not draw_names else _width(name) / 2
        for node, name in {**before.names, **after.names}.items()
    }
    ys = [y for _, y in (*positions.values(), *(end for ends in stubs.values() for end in ends))]
    top, height = min(ys) - _MARGIN, max(ys) - min(ys) + 2 * _MARGIN
    drawn, left = [], _MARGIN
    for side, mark, other in ((before, "gone", after), (after, "come", before)):
        marks = changed | {node: mark for node in side.names if node not in other.names}
        edge_marks = {edge: mark for edge in side.edges if edge not in kept_edges or edge in rebonded}
        for part in components([*before.names, *after.names], _around(before, after)):
            here = [node for node in side.names if node in part]
            if here:
                low, high = _extent(here, positions, stubs, halves)
                content = _draw_side(
                    side, here, positions, stubs, marks, edge_marks, is_molecular=is_molecular, named=draw_names
                )
                drawn.append(f'<g transform="translate({coordinate(left - low)} {coordinate(-top)})">{content}</g>')
                left += high - low + _PART_GAP
        if side is before:
            drawn.append(_arrow(left, height / 2))
            left += _ARROW + _PART_GAP
    left += _MARGIN - _PART_GAP
    style = f"<style>{STYLE}</style>" if standalone else ""
    kind = "drawing rule" if is_molecular else "drawing rule net"
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(" ".join(title.split()) or "rule")}" '
        f'viewBox="0 0 {coordinate(left)} {coordinate(height)}" width="{coordinate(left)}" height="{coordinate(height)}" '
        f'xmlns="http://www.w3.org/2000/svg">{style}{"".join(drawn)}</svg>'
    )


class _Side:
    """One side of a rule, nodes numbered alike on both."""

    def __init__(
        self, pattern: Pattern, number: Mapping[int, int], names: Sequence[str], edge_names: Sequence[str] | None
    ) -> None:
        self.labels = {number[node]: label for node, label in enumerate(pattern.labels)}
        self.names = {node: " ".join(names[label].split()) for node, label in self.labels.items()}
        labelled = pattern.edge_labels is not None
        self.edge_labels = {ordered_edge(number[i], number[j]): label for (i, j), label in pattern.bonds.items()}
        self.edges = {
            edge: edge_names[label] if edge_names and labelled else "" for edge, label in self.edge_labels.items()
        }

    def neighbours(self, node: int) -> list[int]:
        return [sum(edge) - node for edge in self.edges if node in edge]


def _positions(before: _Side, after: _Side, label_names: Sequence[str], *, is_molecular: bool) -> dict[int, Point]:
    """A place for every node of both sides: those of both laid out together, so that nothing lies on anything else."""
    place_of = _shared_places(before, after)
    nodes = [node for node in sorted({*before.labels, *after.labels}) if node not in place_of]
    rank = {node: k for k, node in enumerate(nodes)}
    edges: dict[Pair, int] = {}
    for side in (after, before):
        for (i, j), label in side.edge_labels.items():
            edge = ordered_edge(rank[place_of.get(i, i)], rank[place_of.get(j, j)])
            edges[edge] = label
    labels = [after.labels.get(node, before.labels.get(node, 0)) for node in nodes]
    scale = _MOLECULE_EDGE if is_molecular else _NET_EDGE
    positions: dict[int, Point] = {}
    left = 0.0
    around = {k: [sum(edge) - k for edge in edges if k in edge] for k in range(len(nodes))}
    for part in components(range(len(nodes)), around):
        placed = _part_positions(sorted(part), labels, edges, label_names, is_molecular=is_molecular)
        first = min(x for x, _ in placed.values())
        positions |= {nodes[k]: ((x - first + left) * scale, y * scale) for k, (x, y) in placed.items()}
        left += max(x for x, _ in placed.values()) - first + _GAP
    return positions | {node: positions[other] for node, other in place_of.items()}


def _part_positions(
    part: Sequence[int], labels: Sequence[int], edges: Mapping[Pair, int], names: Sequence[str], *, is_molecular: bool
) -> dict[int, Point]:
    """Places of a connected part, an edge being 1 long."""
    rank = {node: k for k, node in enumerate(part)}
    rows = sorted(edge for edge in edges if edge[0] in rank)
    graph = Graph(
        [labels[node] for node in part],
        [(rank[i], rank[j]) for i, j in rows],
        [edges[row] for row in rows] if is_molecular else None,
    )
    placed = layout_change(graph, graph, depict(graph, names) if is_molecular else None)
    return {node: placed[rank[node]] for node in part}


def _shared_places(before: _Side, after: _Side) -> dict[int, int]:
    """Single nodes that go, or come, where something else comes, or goes, at the same node: they share its place."""
    shared: dict[int, int] = {}
    for anchor in sorted(before.labels.keys() & after.labels.keys()):
        gone = [node for node in before.neighbours(anchor) if node not in after.labels]
        come = [node for node in after.neighbours(anchor) if node not in before.labels]
        for old, new in zip(gone, come, strict=False):
            if len(before.neighbours(old)) == 1:
                shared[old] = new
            elif len(after.neighbours(new)) == 1:
                shared[new] = old
    return shared


def _is_full(side: _Side, node: int) -> bool:
    """Whether an atom has all its bonds, as the oxygen of C=O; a nitrogen may be charged."""
    atom = read_atom(side.names[node])
    kinds = [kind for edge, kind in side.edges.items() if node in edge]
    if atom is None or atom.element == "N" or not set(kinds) <= set(BOND_NAMES):
        return False
    return sum(BOND_ORDERS[BOND_NAMES.index(kind)] for kind in kinds) >= max(atom.valences, default=9)


def _stubs(nodes: Iterable[int], before: _Side, after: _Side, positions: Mapping[int, Point]) -> dict[int, list[Point]]:
    """Ends of the dotted lines at open nodes: two for each, where there is most room."""
    length = _STUB * (_typical_edge(before, after, positions) or _MOLECULE_EDGE)
    stubs = {}
    for node in nodes:
        x, y = positions[node]
        taken = [
            math.atan2(positions[other][1] - y, positions[other][0] - x)
            for other in {*before.neighbours(node), *after.neighbours(node)}
        ]
        ends = []
        for _ in range(2 if len(taken) < 3 else 1):
            angle = _freest_direction(taken)
            taken.append(angle)
            ends.append((x + length * math.cos(angle), y + length * math.sin(angle)))
        stubs[node] = ends
    return stubs


def _freest_direction(taken: Sequence[float]) -> float:
    """The direction furthest from those taken; among equals the one nearest to the left, then up."""
    if not taken:
        return math.pi * 5 / 6
    options = [k * math.pi / 18 for k in range(36)]

    def room(angle: float) -> float:
        wanted = 2 * math.pi / 3  # more room than this is no better
        return min(wanted, *(abs((angle - other + math.pi) % (2 * math.pi) - math.pi) for other in taken))

    return max(
        options, key=lambda angle: (round(room(angle), 3), round(-math.cos(angle), 3), round(-math.sin(angle), 3))
    )


def _typical_edge(before: _Side, after: _Side, positions: Mapping[int, Point]) -> float:
    lengths = [math.dist(positions[i], positions[j]) for i, j in {*before.edges, *after.edges}]
    return sorted(lengths)[len(lengths) // 2] if lengths else 0.0


def _extent(
    nodes: Sequence[int],
    positions: Mapping[int, Point],
    stubs: Mapping[int, Sequence[Point]],
    halves: Mapping[int, float],
) -> tuple[float, float]:
    """How far some nodes reach to the left and right."""
    ends = [x for node in nodes for x, _ in stubs.get(node, ())]
    low = min(*ends, *(positions[node][0] - halves[node] for node in nodes), math.inf)
    return low, max(*ends, *(positions[node][0] + halves[node] for node in nodes), -math.inf)


def _around(before: _Side, after: _Side) -> dict[int, list[int]]:
    """Neighbours of every node on either side."""
    nodes = {*before.names, *after.names}
    return {
        node: sorted({*before.neighbours(node), *after.neighbours(node)})
        for node in nodes
    }  # fmt: skip


def _draw_side(
    side: _Side,
    nodes: Sequence[int],
    positions: Mapping[int, Point],
    stubs: Mapping[int, Sequence[Point]],
    marks: Mapping[int, str],
    edge_marks: Mapping[Pair, str],
    *,
    is_molecular: bool,
    named: bool,
) -> str:
    """Some nodes of one side: dotted lines, edges, then the nodes on top."""
    radii = {node: 7.5 if is_molecular and name == "H" else 9.0 for node, name in side.names.items()}
    neighbours = {node: side.neighbours(node) for node in side.names}
    lines: dict[str, list[str]] = {}
    for node in nodes:
        (x, y), gap = positions[node], radii[node] if is_molecular else 0.0
        for end_x, end_y in stubs.get(node, ()):
            far = math.dist((x, y), (end_x, end_y))
            start = (x + (end_x - x) * gap / far, y + (end_y - y) * gap / far)
            lines.setdefault("open", []).append(
                f"M{coordinate(start[0])} {coordinate(start[1])}L{coordinate(end_x)} {coordinate(end_y)}"
            )
    for edge, kind in sorted(side.edges.items()):
        if edge[0] not in nodes:
            continue
        mark = edge_marks.get(edge, "")
        for segment, dashed in bond_lines(edge, kind if is_molecular else "", positions, radii, neighbours):
            lines.setdefault(f"{mark} dash".strip() if dashed else mark, []).append(segment)
    paths = [
        f'<path{class_attribute(style)} d="{"".join(segments)}"/>'
        for style, segments in sorted(lines.items(), key=lambda item: (item[0] != "open", item[0]))
    ]
    shapes = [
        _atom(side.names[node], positions[node], radii[node], marks.get(node))
        if is_molecular
        else _pill(side.names[node] if named else "", positions[node], marks.get(node))
        for node in nodes
    ]
    return "".join([*paths, *shapes])


def _atom(name: str, at: Point, radius: float, mark: str | None) -> str:
    style = " ".join(filter(None, ["h" if name == "H" and not mark else "", mark or ""]))
    halo = halo_of(at, radius, mark) if mark else ""
    return f'{halo}<text x="{coordinate(at[0])}" y="{coordinate(at[1])}"{class_attribute(style)}>{escape(name)}</text>'


def _pill(name: str, at: Point, mark: str | None) -> str:
    """A node with its name in it."""
    wide, (x, y) = _width(name), at
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    box = (
        f'<rect class="{" ".join(filter(None, ["pill", mark or ""]))}" x="{coordinate(x - wide / 2)}" y="{coordinate(y - 9)}" '
        f'width="{coordinate(wide)}" height="18" rx="9"/>'
    )
    text = (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}"{class_attribute(mark or "")}>{escape(short)}</text>'
        if name
        else ""
    )
    return f"<g><title>{escape(name[:200])}</title>{box}{text}</g>" if name else box


def _width(name: str) -> float:
    return max(18.0, _CHARACTER * min(len(name), _LONGEST_NAME) + 12) if name else 18.0


def _arrow(left: float, middle: float) -> str:
    start, end = left + 6, left + _ARROW - 6
    line = f"M{coordinate(start)} {coordinate(middle)}H{coordinate(end)}M{coordinate(end - 6)} {coordinate(middle - 4.5)}L{coordinate(end)} {coordinate(middle)}L{coordinate(end - 6)} {coordinate(middle + 4.5)}"
    return f'<path class="arrow" d="{line}"/>'
