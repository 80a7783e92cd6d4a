"""A graph before and after its edits, as two small SVG pictures with unchanged nodes in the same place.

Pictures use CSS classes: `STYLE` has their colours for light and dark, safe for any colour vision. Removed, added and changed nodes differ in shape
too (dashed, solid and square halos).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Change, Edit, Graph, Schema, components
from comrecgc.molecules import are_types, charge_sign, count_hydrogens, read_atom, to_rdkit

Point = tuple[float, float]
Edge = tuple[int, int]
Frame = tuple[float, float, float, float]
Marks = tuple[Mapping[int, str], Mapping[Edge, str]]  # of nodes and of edges
_FloatArray = npt.NDArray[np.float64]

_ROUNDS = 60
_GAP = 1.6  # between parts that are not connected
_CLEARANCE = 0.72
_RDKIT_BOND = 1.5
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def layout(graph: Graph) -> dict[int, Point]:
    """A position for every node, by id."""
    return centre(graph, _layout_parts(graph))


def layout_change(before: Graph, after: Graph, start: Mapping[int, Point] | None = None) -> dict[int, Point]:
    """Positions for the nodes of both graphs; nodes with the same id are the same and stay in place.

    `start` has the positions of the nodes of `before`, if known. New nodes take free places near their neighbours, including places of removed nodes.
    """
    positions = dict(layout(before) if start is None else start)
    neighbours = after.neighbours_by_id()
    new = [node for node in after.ids.tolist() if node not in positions]
    while new:
        placed = [other for other in after.ids.tolist() if other in positions]
        node = next((node for node in new if any(other in positions for other in neighbours[node])), new[0])
        tied = [positions[other] for other in neighbours[node] if other in positions]
        taken = [positions[other] for other in placed] or list(positions.values())
        positions[node] = _free_place(np.array(taken), tied)
        new.remove(node)
    return positions


def centre(graph: Graph, positions: npt.NDArray[np.float64]) -> dict[int, Point]:
    """Positions `[n, 2]` by node id, moved so that the middle of the picture is at 0."""
    positions = positions - (positions.min(axis=0) + positions.max(axis=0)) / 2
    return {node: (float(x), float(y)) for node, (x, y) in zip(graph.ids.tolist(), positions, strict=True)}


def _free_place(taken: _FloatArray, tied: Sequence[Point]) -> Point:
    """The least crowded place one edge away from the neighbours: on no other node, and outside rings."""
    if not tied:
        return float(taken[:, 0].max()) + _GAP, float(taken[:, 1].mean())
    centre = np.mean(tied, axis=0)
    angles = np.arange(24) * (2 * np.pi / 24)
    places = centre + np.stack([np.cos(angles), np.sin(angles)], axis=1)  # [24, 2]
    squares = ((places[:, None] - taken[None]) ** 2).sum(axis=2)  # [24, taken]
    crowding = (np.exp(-squares) + 4 * np.exp(-squares / 0.16)).sum(axis=1)
    x, y = places[int(np.argmin(np.round(crowding, 6)))]
    return float(x), float(y)


def _layout_parts(graph: Graph) -> _FloatArray:
    """Each connected part by stress majorisation, the parts side by side."""
    from scipy.sparse import coo_array  # half a second to import
    from scipy.sparse.csgraph import shortest_path

    fresh = graph.fresh()
    parts = [sorted(part) for part in components(range(graph.num_nodes), fresh.neighbours_by_id())]
    links = coo_array((np.ones(graph.num_edges), (graph.edges[:, 0], graph.edges[:, 1])), shape=(graph.num_nodes,) * 2)
    hops = np.asarray(shortest_path(links.tocsr(), directed=False, unweighted=True))
    positions: _FloatArray = np.zeros((graph.num_nodes, 2))
    left = 0.0
    for part in parts:
        placed = _majorise_stress(hops[np.ix_(part, part)])
        placed -= placed.min(axis=0)
        positions[part] = placed + np.array([left, -placed[:, 1].max() / 2])
        left += float(placed[:, 0].max()) + _GAP
    return positions


def _majorise_stress(hops: _FloatArray) -> _FloatArray:
    """Positions whose distances are near the given ones, weighted by their inverse squares (SMACOF, from classical scaling)."""
    n = len(hops)
    if n == 1:
        return np.zeros((1, 2))
    positions = _classical_scaling(hops)
    weights = np.divide(1.0, hops**2, out=np.zeros_like(hops), where=hops > 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        lengths = np.linalg.norm(positions[:, None] - positions[None], axis=2)
        ratios = np.divide(weights * hops, lengths, out=np.zeros_like(hops), where=lengths > 1e-9)
        positions = inverse @ ((np.diag(ratios.sum(axis=1)) - ratios) @ positions)
    return _push_apart(_turn_upright(positions))


def _push_apart(positions: _FloatArray) -> _FloatArray:
    """Positions with overlapping nodes pushed apart."""
    for _ in range(_ROUNDS):
        offsets = positions[:, None] - positions[None]  # [n, n, 2]
        lengths = np.linalg.norm(offsets, axis=2)
        np.fill_diagonal(lengths, np.inf)
        short = np.maximum(0, _CLEARANCE - lengths) / np.maximum(lengths, 1e-6)
        if not short.any():
            break
        positions = positions + 0.4 * (offsets * short[:, :, None]).sum(axis=1)
    return positions


def _classical_scaling(hops: _FloatArray) -> _FloatArray:
    n = len(hops)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centring @ (hops**2) @ centring / 2)
    start = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-6))
    if start.shape[1] < 2:
        start = np.pad(start, ((0, 0), (0, 1)))
    # Nodes with the same distances to all others (twin leaves) must not begin at one point.
    angles = np.arange(n) * 2.399963  # the golden angle
    return np.asarray(start + 0.05 * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _turn_upright(positions: _FloatArray) -> _FloatArray:
    """Positions rotated so that the long side is horizontal, with a fixed choice of sign."""
    centre = positions - positions.mean(axis=0)
    _, axes = np.linalg.eigh(centre.T @ centre)
    turned = centre @ axes[:, ::-1]
    skew = (turned**3).sum(axis=0)
    return np.asarray(turned * np.where(skew < 0, -1.0, 1.0))


def atom_symbols(graph: Graph, label_names: Sequence[str], edge_label_names: Sequence[str] | None) -> dict[int, str]:
    """The text of each atom, by id: "C", "NH₂", "O⁻"; with hydrogens if they are no nodes and bonds are known."""
    names = {node: label_names[label] for node, label in graph.labels_by_id().items()}
    hydrogens: dict[int, int] = {}
    if edge_label_names and ("H" not in label_names or are_types(label_names)):
        bonds = {edge: edge_label_names[label] for edge, label in graph.edge_labels_by_id().items()}
        hydrogens = count_hydrogens(names, bonds, {}, fill=True)
    return {node: atom_text(name, hydrogens.get(node, 0)) for node, name in names.items()}


def atom_text(name: str, hydrogens: int = 0) -> str:
    """The text of an atom label: element, hydrogens and charge; aromatic atoms show by their bonds."""
    atom = read_atom(name)
    if atom is None:
        return name
    return f"{atom.element}{hydrogen_text(0 if atom.element == 'C' else hydrogens)}{charge_sign(atom.charge)}"


def hydrogen_text(count: int) -> str:
    """Hydrogens of an atom: "", "H", "H₂"."""
    return "" if not count else "H" if count == 1 else f"H{count}".translate(SUBSCRIPTS)


def depict(graph: Graph, label_names: Sequence[str]) -> dict[int, Point] | None:
    """A position for every atom, by id, with bonds of length 1; None if rdkit is not installed or cannot draw the graph."""
    try:
        from rdkit import Chem
        from rdkit.Chem import rdDepictor

        molecule = to_rdkit(graph, label_names)
        molecule.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(molecule)
        rdDepictor.Compute2DCoords(molecule, canonOrient=True)
        points = np.array(molecule.GetConformer().GetPositions()[:, :2], dtype=np.float64) / _RDKIT_BOND
    except (ImportError, InputError, RuntimeError, ValueError):
        return None
    points[:, 1] *= -1  # y grows downwards on a screen
    return centre(graph, points) if np.isfinite(points).all() else None


# Graphs before and after a change, as SVG.


STYLE = (files("comrecgc.drawing") / "style.css").read_text(encoding="utf-8")

_EDGE = 30.0  # length of an edge on paper
_MARGIN = 16.0
_MAX_NODES = 70
_BESIDE = 3.6  # between the lines of a double bond


@dataclass(frozen=True)
class Picture:
    """A drawing of one change."""

    before: str  # SVG of the graph with what goes highlighted
    after: str  # SVG of the edited graph with what comes highlighted, same frame
    width: float  # of either, in pixels
    num_hidden: int  # nodes far from the change that are left out of a large graph


@dataclass(frozen=True)
class Pen:
    """Draws graphs of a dataset: molecules as skeletal formulas, with carbon as a bare corner, other nodes as circles."""

    schema: Schema

    def draw(self, graph: Graph, path: Sequence[Edit], title: str = "") -> Picture:
        """The graph before and after a path of edits; the title is for screen readers."""
        return self.draw_change(Change.along(graph, path), title)

    def draw_change(self, change: Change, title: str = "") -> Picture:
        """The graphs before and after a change."""
        shown = _near(change)
        num_hidden = len(set(change.before.ids.tolist()) | change.added) - len(shown)
        before, after = induced_subgraph(change.before, shown), induced_subgraph(change.after, shown)
        start = depict(before, self.schema.label_names) if self.schema.is_molecular else None
        placed = layout_change(before, after, start)
        positions = {node: (x * _EDGE, y * _EDGE) for node, (x, y) in placed.items()}
        frame = _frame(positions)
        marks = dict.fromkeys(change.relabelled, "other")
        gone = marks | dict.fromkeys(change.removed, "gone")
        come = marks | dict.fromkeys(change.added, "come")
        old, new = before.edge_labels_by_id(), after.edge_labels_by_id()
        other = {edge: "other" for edge in old.keys() & new.keys() if old[edge] != new[edge]}
        cut, joined = other | dict.fromkeys(change.cut, "gone"), other | dict.fromkeys(change.joined, "come")
        old_svg = self._svg(before, positions, (gone, cut), frame, f"{title} before")
        new_svg = self._svg(after, positions, (come, joined), frame, f"{title} after")
        return Picture(old_svg, new_svg, frame[2], num_hidden)

    def _svg(self, graph: Graph, positions: Mapping[int, Point], marks: Marks, frame: Frame, title: str) -> str:
        node_marks, edge_marks = marks
        names = {node: self.schema.label_names[label] for node, label in graph.labels_by_id().items()}
        if self.schema.is_molecular:
            names = atom_symbols(graph, self.schema.label_names, self.schema.edge_label_names)
        radii = {node: self._radius(node, names[node], graph, node_marks) for node in names}
        x, y, width, height = frame
        head = (
            f'<svg class="{"drawing" if self.schema.is_molecular else "drawing net"}" role="img" aria-label="{escape(" ".join(title.split()))}" '
            f'viewBox="{coordinate(x)} {coordinate(y)} {coordinate(width)} {coordinate(height)}" width="{coordinate(width)}" height="{coordinate(height)}" '
            'xmlns="http://www.w3.org/2000/svg">'
        )
        edges = self._edges(graph, positions, radii, edge_marks)
        nodes = [self._node(names[node], positions[node], radii[node], node_marks.get(node)) for node in names]
        return "".join([head, *edges, *nodes, "</svg>"])

    def _radius(self, node: int, name: str, graph: Graph, marks: Mapping[int, str]) -> float:
        """How far edges stay away from a node's centre; 0 for a bare corner."""
        if not self.schema.is_molecular:
            return 9.0
        bare = name == "C" and node not in marks and graph.degrees()[graph.position(node)] > 0
        return 0.0 if bare else 6.5 if name == "H" else 8.5 + 2.0 * min(len(name) - 1, 2) if len(name) > 2 else 8.5

    def _edges(
        self, graph: Graph, positions: Mapping[int, Point], radii: Mapping[int, float], marks: Mapping[Edge, str]
    ) -> list[str]:
        """One path for all unmarked edges, one for each kind of marked ones."""
        names = self.schema.edge_label_names
        kinds = {edge: names[label] for edge, label in graph.edge_labels_by_id().items()} if names else {}
        neighbours = graph.neighbours_by_id()
        lines: dict[str, list[str]] = {}
        for edge in graph.edges_by_id():
            mark = marks.get(edge, "")
            for segment, dashed in bond_lines(edge, kinds.get(edge, "single"), positions, radii, neighbours):
                lines.setdefault(f"{mark} dash".strip() if dashed else mark, []).append(segment)
        return [f'<path{class_attribute(style)} d="{"".join(paths)}"/>' for style, paths in sorted(lines.items())]

    def _node(self, name: str, at: Point, radius: float, mark: str | None) -> str:
        x, y = coordinate(at[0]), coordinate(at[1])
        halo = halo_of(at, radius, mark) if mark else ""
        tip = f"<title>{escape(name[:200])}</title>"
        if self.schema.is_molecular:
            if radius == 0:
                return halo
            style = " ".join(filter(None, ["h" if name == "H" and not mark else "", mark or ""]))
            return f'{halo}<text x="{x}" y="{y}"{class_attribute(style)}>{escape(name)}</text>'
        short = name[:2] if len(self.schema.label_names) > 1 else ""
        circle = f'<circle class="node" cx="{x}" cy="{y}" r="9"/>'
        style = " ".join(filter(None, ["small" if len(short) > 1 else "", mark or ""]))
        text = f'<text x="{x}" y="{y}"{class_attribute(style)}>{escape(short)}</text>' if short else ""
        return f"<g>{tip}{circle}{halo}{text}</g>"


def halo_of(at: Point, radius: float, mark: str) -> str:
    """The halo of a node that is removed (dashed ring), added (ring) or changed (square)."""
    reach = max(radius, 8.5) + 1.5
    x, y = at
    if mark == "other":
        side = coordinate(2 * reach)
        corner = f'x="{coordinate(x - reach)}" y="{coordinate(y - reach)}"'
        return f'<rect class="halo other" {corner} width="{side}" height="{side}" rx="3"/>'
    return f'<circle class="halo {mark}" cx="{coordinate(x)}" cy="{coordinate(y)}" r="{coordinate(reach)}"/>'


def bond_lines(
    edge: Edge, kind: str, at: Mapping[int, Point], radii: Mapping[int, float], neighbours: Mapping[int, Sequence[int]]
) -> list[tuple[str, bool]]:
    """The strokes of an edge, each with whether it is dashed."""
    (x0, y0), (x1, y1) = at[edge[0]], at[edge[1]]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    head, tail = min(radii[edge[0]], length / 3), min(radii[edge[1]], length / 3)

    def line(aside: float, shorter: float = 0.0) -> str:
        start, end = head + shorter, length - tail - shorter
        dx, dy = -uy * aside, ux * aside
        return stroke((x0 + ux * start + dx, y0 + uy * start + dy), (x0 + ux * end + dx, y0 + uy * end + dy))

    if kind == "triple":
        return [(line(0), False), (line(_BESIDE), False), (line(-_BESIDE), False)]
    if kind not in ("double", "aromatic"):
        return [(line(0), False)]
    if kind == "double" and min(len(neighbours[node]) for node in edge) == 1:
        return [(line(_BESIDE / 2), False), (line(-_BESIDE / 2), False)]
    # The second line goes to the side with more neighbours: the inside of a ring.
    others = [at[other] for node in edge for other in neighbours[node] if other not in edge]
    lean = sum(ux * (y - y0) - uy * (x - x0) for x, y in others)
    return [(line(0), False), (line(math.copysign(_BESIDE, lean), 3.0), kind == "aromatic")]


def _near(change: Change) -> frozenset[int]:
    """Nodes to draw: all of a small graph, of a large one those nearest to the change."""
    everything = frozenset(change.before.ids.tolist()) | change.added
    if len(everything) <= _MAX_NODES:
        return everything
    before, after = change.before.neighbours_by_id(), change.after.neighbours_by_id()
    shown = set(change.touched) or {int(change.before.ids[0])}
    while True:
        ring = {other for node in shown for other in (*before.get(node, ()), *after.get(node, ()))} - shown
        if not ring or len(shown) + len(ring) > _MAX_NODES:
            return frozenset(shown)
        shown |= ring


def induced_subgraph(graph: Graph, nodes: frozenset[int]) -> Graph:
    """The part of a graph on some of its nodes, ids kept."""
    kept = [place for place, node in enumerate(graph.ids.tolist()) if node in nodes]
    if len(kept) == graph.num_nodes:
        return graph
    rank = {place: new for new, place in enumerate(kept)}
    rows = [row for row, (i, j) in enumerate(graph.edges.tolist()) if i in rank and j in rank]
    edges = [[rank[i], rank[j]] for i, j in graph.edges[rows].tolist()]
    part = Graph(graph.labels[kept], edges, None if graph.edge_labels is None else graph.edge_labels[rows])
    return Graph.assemble(part.labels, part.edges, part.edge_labels, graph.ids[kept], graph.next_id)


def _frame(positions: Mapping[int, Point]) -> Frame:
    xs, ys = zip(*positions.values(), strict=True)
    left, top = min(xs) - _MARGIN, min(ys) - _MARGIN
    return left, top, max(xs) - min(xs) + 2 * _MARGIN, max(ys) - min(ys) + 2 * _MARGIN


def stroke(start: Point, end: Point) -> str:
    """A straight line, as a path of SVG."""
    return f"M{coordinate(start[0])} {coordinate(start[1])}L{coordinate(end[0])} {coordinate(end[1])}"


def class_attribute(style: str) -> str:
    """A class as an attribute of an SVG element; empty without one."""
    return f' class="{style}"' if style else ""


def coordinate(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else str(round(value))
