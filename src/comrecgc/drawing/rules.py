"""A rule as one SVG picture: left-hand side, arrow, right-hand side; a plus stands between changes at different sites.

Molecules are skeletal: carbons are corners, R is the rest of the molecule, Ar that of an aromatic ring; the whole group that leaves has one
colour, and the whole group that enters the other. In other graphs removed, added and changed nodes are marked one by one. Dotted lines say that a
node may have further neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from html import escape

from comrecgc.drawing import pen
from comrecgc.drawing.pen import STYLE, Point, bond_lines, class_attribute, coordinate, depict, hydrogen_text
from comrecgc.graphs import Graph, Pattern, Rule, Schema, components, ordered_edge
from comrecgc.molecules import BOND_NAMES, BOND_ORDERS, count_hydrogens, read_atom

Pair = tuple[int, int]

_MARGIN = 20.0
_ARROW = 46.0
_STUB = 0.66  # length of the dotted line at an open node, in edges
_MOLECULE_EDGE, _NET_EDGE = 36.0, 62.0  # nodes of other graphs carry their names
_GAP = 1.5  # between parts as they are laid out, in edges
_PART_GAP = 14.0  # and as they are drawn
_LONGEST_NAME = 12
_CHARACTER = 6.2  # width of a letter


def draw_rule(rule: Rule, schema: Schema, *, title: str = "", standalone: bool = False) -> str:
    """A rule as SVG. Labels of molecules are drawn as atoms; other nodes show their label's name, unless there is only one label.

    The title is for screen readers. A `standalone` file includes the styles; a page has them already.
    """
    label_names, edge_label_names, is_molecular = schema.label_names, schema.edge_label_names, schema.is_molecular
    after_number = {new: old for old, new in rule.kept}
    for new in range(len(rule.after.labels)):
        after_number.setdefault(new, len(rule.before.labels) + new)
    names = [pen.atom_text(name) for name in label_names] if is_molecular else label_names
    before = _Side(rule.before, {node: node for node in range(len(rule.before.labels))}, names, edge_label_names)
    after = _Side(rule.after, after_number, names, edge_label_names)
    _mark(before, after, rule, is_molecular=is_molecular)
    open_nodes = [node for node in range(len(rule.before.labels)) if not rule.closed[node]]
    if is_molecular:
        for side in (before, after):
            side.fold_hydrogens()
        open_nodes = [node for node in open_nodes if not _is_full(before, node) and before.names[node] != "H"]
        rests = _rests(before, after, rule.closed)
        open_nodes = [node for node in open_nodes if node in before.names and node not in rests]
    positions = _positions(before, after, label_names, is_molecular=is_molecular)
    stubs = _stubs(open_nodes, before, after, positions)
    for side in (before, after):
        side.positions, side.stubs, side.is_molecular = positions, stubs, is_molecular
    if is_molecular:
        with_hydrogens = "H" in label_names or edge_label_names is None
        for side in (before, after):
            side.write(rule.closed, has_hydrogens=with_hydrogens)
            side.rests = {
                node: text if with_hydrogens or side.neighbours(node) else f"{text}–H" for node, text in rests.items()
            }
            side.texts |= side.rests
    elif len(label_names) == 1:
        before.texts = after.texts = {}
    drawn: list[Callable[[float], str]] = []  # pieces, given the middle of the picture
    left, height = _MARGIN, 0.0
    for number, part in enumerate(components([*before.names, *after.names], _around(before, after))):
        if number:
            drawn.append(partial(_plus, left + 4))
            left += 2 * _PART_GAP
        for side in (before, after):
            here = [node for node in side.names if node in part]
            if here:
                low, high, top, bottom = side.extent(here)
                drawn.append(partial(_moved, _draw_side(side, here), left - low, -(top + bottom) / 2))
                left, height = left + high - low + _PART_GAP, max(height, bottom - top + 2 * _MARGIN)
            if side is before:
                drawn.append(partial(_arrow, left))
                left += _ARROW + _PART_GAP
    left += _MARGIN - _PART_GAP
    style = f"<style>{STYLE}</style>" if standalone else ""
    kind = "drawing rule" if is_molecular else "drawing rule net"
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(" ".join(title.split()) or "rule")}" '
        f'viewBox="0 0 {coordinate(left)} {coordinate(height)}" width="{coordinate(left)}" height="{coordinate(height)}" '
        f'xmlns="http://www.w3.org/2000/svg">{style}{"".join(piece(height / 2) for piece in drawn)}</svg>'
    )


def _plus(x: float, middle: float) -> str:
    return f'<text class="plus" x="{coordinate(x)}" y="{coordinate(middle)}">+</text>'


def _moved(content: str, x: float, y: float, middle: float) -> str:
    return f'<g transform="translate({coordinate(x)} {coordinate(y + middle)})">{content}</g>'


class _Side:
    """One side of a rule, with nodes numbered alike on both: the nodes present, what happens to them, and their text."""

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
        self.marks: dict[int, str] = {}
        self.edge_marks: dict[Pair, str] = {}
        self.folded: dict[int, int] = {}  # hydrogens that are written with another atom
        self.texts = dict(self.names)  # empty for a corner
        self.rests: dict[int, str] = {}  # what stands for the rest of a molecule
        self.positions: Mapping[int, Point] = {}
        self.stubs: Mapping[int, Sequence[Point]] = {}  # ends of the dotted lines at open nodes
        self.is_molecular = False

    def neighbours(self, node: int) -> list[int]:
        return [sum(edge) - node for edge in self.edges if node in edge]

    def hide(self, nodes: Iterable[int]) -> None:
        """Leave nodes out of the picture."""
        for node in nodes:
            del self.names[node], self.labels[node]
            for edge in [edge for edge in self.edges if node in edge]:
                del self.edges[edge], self.edge_labels[edge]

    def fold_hydrogens(self) -> None:
        """Remove the hydrogens that are kept, added or removed together with their only neighbour, and count them with it."""
        hidden = []
        for node in [node for node, name in self.names.items() if name == "H"]:
            beside = self.neighbours(node)
            if len(beside) == 1 and self.names[beside[0]] != "H" and self.marks.get(node) == self.marks.get(beside[0]):
                self.folded[beside[0]] = self.folded.get(beside[0], 0) + 1
                hidden.append(node)
        self.hide(hidden)

    def write(self, closed: Sequence[bool], *, has_hydrogens: bool) -> None:
        """Set the text of each atom: its element and hydrogens, nothing at a corner."""
        hydrogens: Mapping[int, int] = self.folded
        if not has_hydrogens and set(self.edges.values()) <= set(BOND_NAMES):
            bonds: dict[Pair, str | None] = dict(self.edges)
            filled = count_hydrogens(self.names, bonds, {}, fill=True)
            hydrogens = {node: num for node, num in filled.items() if node >= len(closed) or closed[node]}
        for node, name in self.names.items():
            beside = self.neighbours(node)
            alone = node in self.marks and not any(other in self.marks for other in beside)
            triple = any(kind == "triple" for edge, kind in self.edges.items() if node in edge)
            is_corner = name == "C" and len(beside) + len(self.stubs.get(node, ())) > 1 and not alone and not triple
            num = hydrogens.get(node, 0) if name != "C" or node in self.marks else 0
            self.texts[node] = "" if is_corner else f"{name}{hydrogen_text(num)}"

    def extent(self, nodes: Sequence[int]) -> tuple[float, float, float, float]:
        """How far some nodes reach to the left and right, up and down."""
        ends, at = [point for node in nodes for point in self.stubs.get(node, ())], self.positions
        texts = {node: self.texts.get(node, "") for node in nodes}
        halves = {k: 7.0 + 4.2 * len(text) if self.is_molecular else _width(text) / 2 for k, text in texts.items()}
        xs = [x for x, _ in ends] + [at[node][0] + sign * halves[node] for node in nodes for sign in (-1, 1)]
        ys = [y for _, y in ends] + [at[node][1] for node in nodes]
        return min(xs), max(xs), min(ys), max(ys)


def _mark(before: _Side, after: _Side, rule: Rule, *, is_molecular: bool) -> None:
    """Mark nodes and edges as removed, added or changed; in molecules whole groups are."""
    both = before.labels.keys() & after.labels.keys()
    changed = {node for node in both if before.labels[node] != after.labels[node]}
    group = _group(before, after, rule.closed, changed) if is_molecular else set()
    kept = {edge for edge in before.edges if before.edges[edge] == after.edges.get(edge)}
    for side, mark in ((before, "gone"), (after, "come")):
        side.marks = {node: mark for node in side.names if node not in both or node in group}
        if not is_molecular:
            side.marks |= dict.fromkeys(changed, "other")
        side.edge_marks = {edge: mark for edge in side.edges if edge not in kept or group & set(edge)}


def _group(before: _Side, after: _Side, closed: Sequence[bool], changed: set[int]) -> set[int]:
    """Atoms of the groups that leave or enter: those that change, and atoms that hang only on these."""
    core = changed | (before.labels.keys() - after.labels.keys())
    rest = [node for node in before.labels if node not in core]
    group = set(core)
    for part in components(rest, {node: [it for it in before.neighbours(node) if it not in core] for node in rest}):
        if all(closed[node] for node in part) and any(core & set(before.neighbours(node)) for node in part):
            group |= part
    group |= {
        node
        for node in rest
        if closed[node] and len(core & set(before.neighbours(node))) > 1
        and len([other for other in before.neighbours(node) if other not in group]) <= 1
    }  # fmt: skip  # the middle of a group, as the nitrogen of nitro that becomes amino
    return group if len(group) < len(before.labels) else core


def _rests(before: _Side, after: _Side, closed: Sequence[bool]) -> dict[int, str]:
    """Carbons that stand for the rest of the molecule, with their text, R or Ar; neighbours covered by Ar are hidden."""
    carbons = [
        node for node, name in before.names.items() if name == "C" and node in after.names and node not in before.marks
    ]
    rests = {}
    for node in carbons:
        ring = [
            other
            for other in before.neighbours(node)
            if before.edges[edge := ordered_edge(node, other)] == after.edges.get(edge) == "aromatic"
            and other in carbons and not closed[other] and len(before.neighbours(other)) == 1 == len(after.neighbours(other))
        ]  # fmt: skip
        is_aromatic = closed[node] and len(ring) == 2
        if closed[node] and not is_aromatic:
            continue
        bonds = [
            [edge for edge in side.edges if node in edge and not (is_aromatic and sum(edge) - node in ring)]
            for side in (before, after)
        ]
        plain = all(
            len(edges) <= 1
            and all(side.edges[edge] in ("single", "") and (edge not in side.edge_marks or sum(edge) - node in side.marks) for edge in edges)
            for side, edges in zip((before, after), bonds, strict=True)
        )  # fmt: skip
        if plain and any(bonds):
            rests[node] = "Ar" if is_aromatic else "R"
            for side in (before, after):
                side.hide(ring if is_aromatic else ())
    return {node: text for node, text in rests.items() if node in before.names}


def _positions(before: _Side, after: _Side, label_names: Sequence[str], *, is_molecular: bool) -> dict[int, Point]:
    """A position for every node of both sides, laid out together so that nothing overlaps."""
    place_of = _shared_places(before, after)
    nodes = [node for node in sorted({*before.labels, *after.labels}) if node not in place_of]
    rank = {node: k for k, node in enumerate(nodes)}
    edges: dict[Pair, int] = {}
    for (i, j), label in (after.edge_labels | before.edge_labels).items():
        edges[ordered_edge(rank[place_of.get(i, i)], rank[place_of.get(j, j)])] = label
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
    positions |= {node: positions[other] for node, other in place_of.items()}
    for side in (before, after):  # a triple bond is straight
        for edge in [edge for edge, kind in side.edges.items() if kind == "triple"]:
            for end, node in (edge, edge[::-1]):
                if len(side.neighbours(end)) == 1 and len(beside := set(side.neighbours(node)) - {end}) == 1:
                    (x, y), (from_x, from_y) = positions[node], positions[beside.pop()]
                    positions[end] = (2 * x - from_x, 2 * y - from_y)
    return positions


def _part_positions(
    part: Sequence[int], labels: Sequence[int], edges: Mapping[Pair, int], names: Sequence[str], *, is_molecular: bool
) -> dict[int, Point]:
    """Places of a connected part, an edge being 1 long."""
    rank = {node: k for k, node in enumerate(part)}
    rows = sorted(edge for edge in edges if edge[0] in rank)
    bonds = [edges[row] for row in rows] if is_molecular else None
    graph = Graph([labels[node] for node in part], [(rank[i], rank[j]) for i, j in rows], bonds)
    placed = pen.layout_change(graph, graph, depict(graph, names) if is_molecular else None)
    return {node: placed[rank[node]] for node in part}


def _shared_places(before: _Side, after: _Side) -> dict[int, int]:
    """Single removed nodes share the place of a node that is added at the same anchor, and the reverse."""
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
    """Whether an atom has all its bonds, such as the oxygen of C=O; a nitrogen may be charged."""
    atom = read_atom(side.names[node])
    kinds = [kind for edge, kind in side.edges.items() if node in edge]
    if atom is None or atom.element == "N" or not set(kinds) <= set(BOND_NAMES):
        return False
    return sum(BOND_ORDERS[BOND_NAMES.index(kind)] for kind in kinds) >= max(atom.valences, default=9)


def _stubs(nodes: Iterable[int], before: _Side, after: _Side, positions: Mapping[int, Point]) -> dict[int, list[Point]]:
    """Ends of the dotted lines at open nodes: two for each, in the directions with most room."""
    length = _STUB * (_typical_edge(before, after, positions) or _MOLECULE_EDGE)
    stubs = {}
    for node in nodes:
        x, y = positions[node]
        others = [positions[other] for other in {*before.neighbours(node), *after.neighbours(node)}]
        taken = [math.atan2(other_y - y, other_x - x) for other_x, other_y in others]
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

    rounded = {it: (round(room(it), 3), round(-math.cos(it), 3), round(-math.sin(it), 3)) for it in options}
    return max(options, key=lambda angle: rounded[angle])


def _typical_edge(before: _Side, after: _Side, positions: Mapping[int, Point]) -> float:
    lengths = [math.dist(positions[i], positions[j]) for i, j in {*before.edges, *after.edges}]
    return sorted(lengths)[len(lengths) // 2] if lengths else 0.0


def _around(before: _Side, after: _Side) -> dict[int, list[int]]:
    """Neighbours of every node on either side."""
    nodes = {*before.names, *after.names}
    return {node: sorted({*before.neighbours(node), *after.neighbours(node)}) for node in nodes}


def _draw_side(side: _Side, nodes: Sequence[int]) -> str:
    """Some nodes of one side: dotted lines, edges, then the nodes on top."""
    positions, is_molecular, radii = side.positions, side.is_molecular, dict.fromkeys(side.names, 9.0)
    if is_molecular:
        radii = {node: 3.0 + 5.0 * min(len(text), 2) if text else 0.0 for node, text in side.texts.items()}
    neighbours = {node: side.neighbours(node) for node in side.names}
    lines: dict[str, list[str]] = {}
    for node in nodes:
        (x, y), gap = positions[node], radii[node] if is_molecular else 0.0
        for end_x, end_y in side.stubs.get(node, ()):
            far = math.dist((x, y), (end_x, end_y))
            start = (x + (end_x - x) * gap / far, y + (end_y - y) * gap / far)
            lines.setdefault("open", []).append(pen.stroke(start, (end_x, end_y)))
    for edge, kind in sorted(side.edges.items()):
        if edge[0] not in nodes:
            continue
        mark = side.edge_marks.get(edge, "")
        for segment, dashed in bond_lines(edge, kind if is_molecular else "", positions, radii, neighbours):
            lines.setdefault(f"{mark} dash".strip() if dashed else mark, []).append(segment)
    paths = [
        f'<path{class_attribute(style)} d="{"".join(segments)}"/>'
        for style, segments in sorted(lines.items(), key=lambda item: (item[0] != "open", item[0]))
    ]
    shapes = [
        _atom(side, node) if is_molecular else _pill(side.texts.get(node, ""), positions[node], side.marks.get(node))
        for node in nodes
    ]  # fmt: skip
    return "".join([*paths, *shapes])


def _atom(side: _Side, node: int) -> str:
    """The text of an atom; its hydrogens stand on the side away from its bond and do not move it."""
    text, name, (x, y) = side.texts[node], side.names[node], side.positions[node]
    if not text:
        return ""
    style = [side.marks.get(node, ""), "rest" if node in side.rests else ""]
    if len(text) > len(name) and node not in side.rests:
        beside = [side.positions[other][0] - x for other in side.neighbours(node)]
        to_left = len(beside) == 1 and beside[0] > _MOLECULE_EDGE / 3
        if to_left:
            text = f"{text[len(name) :]}{name}"
        style.append("end" if to_left else "start")
        x += 4.6 * len(name) * (1 if to_left else -1)
    classes = class_attribute(" ".join(filter(None, style)))
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}"{classes}>{escape(text)}</text>'


def _pill(name: str, at: Point, mark: str | None) -> str:
    """A node with its name in it."""
    wide, (x, y) = _width(name), at
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    corner = f'x="{coordinate(x - wide / 2)}" y="{coordinate(y - 9)}"'
    box = f'<rect class="{f"pill {mark}" if mark else "pill"}" {corner} width="{coordinate(wide)}" height="18" rx="9"/>'
    text = f'<text x="{coordinate(x)}" y="{coordinate(y)}"{class_attribute(mark or "")}>{escape(short)}</text>'
    return f"<g><title>{escape(name[:200])}</title>{box}{text}</g>" if name else box


def _width(name: str) -> float:
    return max(18.0, _CHARACTER * min(len(name), _LONGEST_NAME) + 12) if name else 18.0


def _arrow(left: float, middle: float) -> str:
    start, end = left + 6, left + _ARROW - 6
    line = f"M{coordinate(start)} {coordinate(middle)}H{coordinate(end)}M{coordinate(end - 6)} {coordinate(middle - 4.5)}L{coordinate(end)} {coordinate(middle)}L{coordinate(end - 6)} {coordinate(middle + 4.5)}"
    return f'<path class="arrow" d="{line}"/>'
