"""Where the truth is known: groups planted in molecules, and toxicophores that chemists published.

The planted set is made harder in three ways that real data is hard: molecules with two groups at once, a harmless group that goes with the
class, and labels that are wrong. The published list is that of Kazius et al. 2005 for mutagenicity, kept as data with its source.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from comrecgc.data import PlantedDataset, find_toxicophores, load_planted
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.molecules import to_rdkit

Difficulty = Literal["plain", "overlap", "decoy", "noise"]
DIFFICULTIES: tuple[Difficulty, ...] = ("plain", "overlap", "decoy", "noise")

DECOY_RATES = (0.9, 0.1)
"""Share of toxic and of harmless molecules that carry the decoy, a bromine."""

NOISE = 0.1
"""Share of labels that are wrong."""

_DECOY = "Br"


def planted(difficulty: Difficulty = "plain", *, num_graphs: int = 600, seed: int = 0) -> PlantedDataset:
    """The planted set, made harder.

    Args:
        difficulty: "plain"; "overlap": every rejected molecule has at least two toxic groups, which all must go; "decoy": most rejected molecules carry a
            harmless bromine too, and few others; "noise": one label in ten is wrong.
        num_graphs: How many molecules.
        seed: Of all that is drawn.
    """
    if difficulty not in DIFFICULTIES:
        raise InputError(f"difficulty must be one of {', '.join(DIFFICULTIES)} (got {difficulty!r})")
    rng = np.random.default_rng([seed, 30])
    dataset = load_planted(seed, num_graphs=num_graphs, several=difficulty == "overlap")
    if difficulty == "decoy":
        return _with_decoy(dataset, rng)
    if difficulty == "noise":
        wrong = rng.random(len(dataset)) < NOISE
        return replace(dataset, classes=np.where(wrong, 1 - dataset.classes, dataset.classes).astype(np.int8))
    return dataset


def _with_decoy(dataset: PlantedDataset, rng: np.random.Generator) -> PlantedDataset:
    """Decoys removed from all molecules, then put on some: on many rejected ones and few others."""
    names = dataset.label_names
    decoy, carbon = names.index(_DECOY), names.index("C")
    graphs = []
    for graph, label in zip(dataset.graphs, dataset.classes.tolist(), strict=True):
        bare = _without(graph, decoy)
        sites = np.flatnonzero((bare.labels == carbon) & (_bond_orders(bare) < 4))
        if len(sites) and rng.random() < DECOY_RATES[label]:
            bare = _attached(bare, int(rng.choice(sites)), decoy)
        graphs.append(bare)
    toxicophores = tuple(find_toxicophores(graph) for graph in graphs)
    classes = np.array([not found for found in toxicophores], np.int8)
    return replace(dataset, graphs=tuple(graphs), toxicophores=toxicophores, classes=classes)


def _without(graph: Graph, label: int) -> Graph:
    kept = np.flatnonzero(graph.labels != label)
    rank = np.full(graph.num_nodes, -1)
    rank[kept] = np.arange(len(kept))
    edges = rank[graph.edges]
    mask = (edges >= 0).all(axis=1)
    bonds = None if graph.edge_labels is None else graph.edge_labels[mask]
    return Graph(graph.labels[kept], edges[mask], bonds)


def _attached(graph: Graph, site: int, label: int) -> Graph:
    bonds = None if graph.edge_labels is None else np.append(graph.edge_labels, 0)
    return Graph(np.append(graph.labels, label), np.concatenate([graph.edges, [[site, graph.num_nodes]]]), bonds)


def _bond_orders(graph: Graph) -> np.ndarray[Any, np.dtype[np.int64]]:
    orders = np.ones(graph.num_edges, np.int64) if graph.edge_labels is None else graph.edge_labels + 1
    total = np.zeros(graph.num_nodes, np.int64)
    for side in (0, 1):
        np.add.at(total, graph.edges[:, side], orders)
    return total


@dataclass(frozen=True, kw_only=True)
class PlantedTruth:
    """How recourses compare with what was planted.

    Args:
        counterfactuals: Shown for molecules that carry a planted group.
        cured: Those that carry none any more.
        touching: Those whose change touches a planted group.
        kinds: Kinds of planted groups among the inputs.
        found: Those of them that some recourse removes.
    """

    counterfactuals: int
    cured: int
    touching: int
    kinds: int
    found: int

    @property
    def precision(self) -> float | None:
        """Share of the changes that touch what is truly to blame."""
        return self.touching / self.counterfactuals if self.counterfactuals else None

    @property
    def recall(self) -> float | None:
        """Share of the kinds of planted groups that some recourse removes."""
        return self.found / self.kinds if self.kinds else None

    @property
    def share_cured(self) -> float | None:
        """Share of the counterfactuals that are harmless in truth."""
        return self.cured / self.counterfactuals if self.counterfactuals else None


def compare_with_planted(
    explanation: Explanation, dataset: PlantedDataset, recourses: Sequence[int] | None = None
) -> PlantedTruth:
    """Compare recourses with what was planted.

    Args:
        explanation: What was found.
        dataset: The planted set.
        recourses: Which recourses; None for all.
    """
    chosen = range(len(explanation.recourses)) if recourses is None else recourses
    members = [member for place in chosen for member in explanation.recourses[place].covered]
    members = [member for member in members if dataset.toxicophores[member.input]]
    kinds = {group.name for index in explanation.inputs for group in dataset.toxicophores[index]}
    cured = touching = 0
    found: set[str] = set()
    for member in members:
        before = Counter(group.name for group in dataset.toxicophores[member.input])
        after = Counter(group.name for group in find_toxicophores(member.counterfactual))
        cured += not after
        touching += after != before
        found |= {name for name in before if after[name] < before[name]}
    return PlantedTruth(
        counterfactuals=len(members), cured=cured, touching=touching, kinds=len(kinds), found=len(found & kinds)
    )


@dataclass(frozen=True, kw_only=True)
class PublishedGroup:
    """A group that a paper names, as SMARTS."""

    kind: Literal["toxicophore", "detoxifying"]
    name: str
    smarts: str


def kazius_groups() -> list[PublishedGroup]:
    """The toxicophores of Kazius et al. 2005, and the groups that suppress them."""
    text = (files("comrecgc.evidence") / "kazius2005.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [PublishedGroup(**row) for row in csv.DictReader(lines)]  # type: ignore[arg-type]


def published_changes(
    explanation: Explanation, groups: Sequence[PublishedGroup], most: int = 100
) -> list[dict[str, Any]]:
    """For each recourse, the share of its counterfactuals that lose or gain each published group.

    Args:
        explanation: Recourses on molecules.
        groups: The groups.
        most: Counterfactuals looked at per recourse.

    Returns:
        For each recourse `looked_at`, `loses` and `gains`: shares by the name of the group, where they are not zero; `agrees` is the share that loses a
        toxicophore and gains none, or gains a detoxifying group.
    """
    from rdkit import Chem

    patterns = [(group, Chem.MolFromSmarts(group.smarts)) for group in groups]

    def counts(graph: Graph) -> Counter[str] | None:
        molecule = to_rdkit(graph, explanation.label_names)
        if molecule is None or Chem.SanitizeMol(molecule, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
            return None
        return Counter({group.name: len(molecule.GetSubstructMatches(pattern)) for group, pattern in patterns})

    toxic = {group.name for group in groups if group.kind == "toxicophore"}
    found = []
    for recourse in explanation.recourses:
        loses, gains, agrees, looked_at = Counter[str](), Counter[str](), 0, 0
        for member in recourse.covered[:most]:
            before, after = counts(explanation.inputs[member.input].graph), counts(member.counterfactual)
            if before is None or after is None:
                continue
            looked_at += 1
            fewer = {name for name in before if after[name] < before[name]}
            more = {name for name in after if after[name] > before[name]}
            loses.update(fewer)
            gains.update(more)
            agrees += not (more & toxic) and bool((fewer & toxic) or (more - toxic))
        found.append(
            {
                "looked_at": looked_at,
                "agrees": agrees / looked_at if looked_at else None,
                "loses": {name: num / looked_at for name, num in sorted(loses.items())},
                "gains": {name: num / looked_at for name, num in sorted(gains.items())},
            }
        )
    return found
