"""Positions of the nodes of a graph, and of the graph it is edited into, for drawing; and the symbols written at atoms.

Molecules take rdkit's depiction where rdkit is installed. Other graphs are laid out so that distances on paper follow
distances in the graph. Positions depend on the graph alone: there is no random start. An edge is about 1 long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, components, edge_labels_by_id, labels_by_id, neighbours_by_id
from comrecgc.molecules import are_types, charge_sign, count_hydrogens, element_of, read_atom, to_rdkit

Point = tuple[float, float]
_FloatArray = npt.NDArray[np.float64]

_ROUNDS = 60
_GAP = 1.6  # between parts that are not connected
_CLEARANCE = 0.72
_RDKIT_BOND = 1.5
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def layout(graph: Graph) -> dict[int, Point]:
    """A position for every node, by id."""
    return centre(graph, _layout_parts(graph))


def layout_change(before: Graph, after: Graph, start: Mapping[int, Point] | None = None) -> dict[int, Point]:
    """Positions for the nodes of both graphs, so that what stays stays in place.

    Args:
        before: The graph before.
        after: The graph after, a node being the same where its id is.
        start: Where the nodes of `before` are, if that is known; new nodes take free places near what they are tied to,
            those of nodes that go among them.
    """
    positions = dict(layout(before) if start is None else start)
    neighbours = neighbours_by_id(after)
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
    """The place one edge from the nodes tied to that is least crowded: on no other node, and outside rings."""
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
    parts = [sorted(part) for part in components(range(graph.num_nodes), neighbours_by_id(fresh))]
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
    """Nodes that would lie on each other, pushed away from each other."""
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
    """Turned so that the long side lies flat, with a fixed choice of sign."""
    centre = positions - positions.mean(axis=0)
    _, axes = np.linalg.eigh(centre.T @ centre)
    turned = centre @ axes[:, ::-1]
    skew = (turned**3).sum(axis=0)
    return np.asarray(turned * np.where(skew < 0, -1.0, 1.0))


def atom_symbols(graph: Graph, label_names: Sequence[str], edge_label_names: Sequence[str] | None) -> dict[int, str]:
    """What to write for each atom, by id: "C", "NH₂", "O⁻"; hydrogens where they are no nodes and bonds are known.

    Args:
        graph: The molecule.
        label_names: Atom behind each label.
        edge_label_names: Name of each edge label ("single", "double" …), if edges have labels.
    """
    names = {node: label_names[label] for node, label in labels_by_id(graph).items()}
    hydrogens: dict[int, int] = {}
    if edge_label_names and ("H" not in label_names or are_types(label_names)):
        bonds: dict[tuple[int, int], str | None] = {
            edge: edge_label_names[label] for edge, label in edge_labels_by_id(graph).items()
        }
        hydrogens = count_hydrogens(names, bonds, {}, fill=True)
    return {node: _symbol(name, hydrogens.get(node, 0)) for node, name in names.items()}


def _symbol(name: str, hydrogens: int) -> str:
    atom = read_atom(name)
    element = element_of(name)
    if atom is None or element == "C":
        hydrogens = 0
    count = "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}".translate(_SUBSCRIPTS)
    return f"{element}{count}{charge_sign(atom.charge) if atom else ''}"


def depict(graph: Graph, label_names: Sequence[str]) -> dict[int, Point] | None:
    """A position for every atom, by id, a bond being 1 long; None where rdkit is not installed or will not draw the graph.

    Args:
        graph: The molecule.
        label_names: Element behind each label.
    """
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
