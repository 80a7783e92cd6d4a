"""Explanations made by hand, for tests: from the planted dataset, whose true recourses are known, or of any size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from comrecgc.datasets import GraphDataset, load_planted, true_recourses
from comrecgc.explanation import (
    CommonRecourse,
    CoveredInput,
    DatasetIndex,
    Explanation,
    Reason,
    RejectedInput,
    RunFacts,
    Uncovered,
)
from comrecgc.graphs import EditPath, Graph, apply_edit, apply_path, one_edit_table
from comrecgc.wording import describe_recourse

FACTS = RunFacts(
    seed=0,
    versions={"comrecgc": "0.1.0", "python": "3.11"},
    seconds={"read": 0.5, "search": 41.25},
    peak_memory=512_000_000,
    model_accuracy=0.87,
)


def explain(
    dataset: GraphDataset,
    groups: Sequence[Sequence[tuple[int, EditPath]]],
    *,
    seed: int = 0,
    warnings: tuple[str, ...] = (),
    in_words: bool = True,
) -> Explanation:
    """An explanation whose recourses are the given groups of (input, path); rejected graphs in no group are uncovered.

    Words take longest: without `in_words` they are made of the first member of each group alone.
    """
    rng = np.random.default_rng(seed)
    names = dataset.label_names
    inputs = {
        index: RejectedInput(graph, 0.5 + 0.5 * float(rng.random()))
        for index, graph in enumerate(dataset.graphs)
        if dataset.classes[index] == 0
    }
    seen: list[int] = []
    recourses = []
    for group in groups:
        centre = rng.normal(size=2)
        members = [
            CoveredInput(
                input=DatasetIndex(index),
                probability=0.5 + 0.5 * float(rng.random()),
                distance=0.02 + 0.08 * float(rng.random()),
                num_edits=len(path),
                edits=path,
                counterfactual=apply_path(dataset.graphs[index], path),
                position=tuple(centre + rng.normal(scale=0.08, size=2)),
            )
            for index, path in group
        ]
        words = describe_recourse(
            [(dataset.graphs[index], path) for index, path in (group if in_words else group[:1])],
            names,
            edge_label_names=dataset.edge_label_names,
            is_molecular=dataset.is_molecular,
        )
        recourses.append(
            CommonRecourse(
                vector=tuple(rng.normal(scale=0.01, size=64).astype(np.float32).tolist()),
                summary=words.summary,
                description=words.description,
                covered=tuple(members),
                also_covers=tuple(seen[:: max(3, len(seen) // 20)]),
                share_valid=float(rng.random()) if dataset.is_molecular else None,
            )
        )
        seen += [index for index, _ in group]
    left = sorted(set(inputs) - set(seen))
    reasons = list(Reason)
    covered = len(seen) / max(1, len(inputs))
    return Explanation(
        dataset=dataset.name,
        parameters={"theta": 0.1, "delta": 0.02, "num_recourses": len(groups), "problem": "fcr", "seed": seed},
        metrics={
            "coverage": covered,
            "directional_coverage": 0.9 * covered,
            "trivial_coverage": 0.13,
            "total_length": sum(recourse.norm or 0.0 for recourse in recourses),
            "cost": 0.04 * len(seen),
            "num_inputs": len(inputs),
            "num_recourses": len(groups),
        },
        inputs=inputs,
        recourses=tuple(recourses),
        uncovered=tuple(Uncovered(input=DatasetIndex(index), reason=reasons[index % len(reasons)]) for index in left),
        label_names=names,
        class_names=dataset.class_names,
        edge_label_names=dataset.edge_label_names,
        is_molecular=dataset.is_molecular,
        warnings=warnings,
        notes=dataset.notes,
        facts=FACTS,
    )


def planted_explanation(num_graphs: int = 120, seed: int = 0) -> Explanation:
    """The planted dataset explained by its own true recourses; about a tenth of the inputs is left uncovered."""
    dataset = load_planted(seed, num_graphs=num_graphs)
    groups: dict[str, list[tuple[int, EditPath]]] = defaultdict(list)
    for index, found in enumerate(dataset.toxicophores):
        if len(found) == 1 and index % 17:
            ways = list(true_recourses(found[0]).items())
            way, path = ways[0] if index % 3 else ways[1]
            groups[f"{found[0].name}: {way}"].append((index, path))
    ordered = sorted(groups.values(), key=len, reverse=True)
    return explain(dataset, ordered, warnings=("13.0% of the inputs are covered by changing nothing.",))


def random_path(graph: Graph, num_labels: int, length: int, rng: np.random.Generator) -> EditPath:
    """A few random edits."""
    path = []
    for _ in range(length):
        table = one_edit_table(graph, num_labels)
        edit = table[int(rng.integers(len(table)))]
        path.append(edit)
        graph = apply_edit(graph, edit)
    return tuple(path)


def random_explanation(
    dataset: GraphDataset, num_recourses: int, *, seed: int = 0, in_words: bool = True
) -> Explanation:
    """Rejected graphs with random edits, dealt to recourses of falling size; a twentieth is left uncovered."""
    rng = np.random.default_rng(seed)
    rejected = np.flatnonzero(dataset.classes == 0)
    shares = rng.permutation(1 / np.arange(1, num_recourses + 1))
    shares = np.sort(shares)[::-1] / shares.sum()
    places = rng.choice(num_recourses, size=len(rejected), p=shares)
    groups: list[list[tuple[int, EditPath]]] = [[] for _ in range(num_recourses)]
    for index, place in zip(rejected.tolist(), places.tolist(), strict=True):
        if rng.random() > 0.05:
            path = random_path(dataset.graphs[index], dataset.num_labels, int(rng.integers(1, 5)), rng)
            groups[place].append((index, path))
    return explain(dataset, sorted(groups, key=len, reverse=True), seed=seed, in_words=in_words)


def tiny_dataset(label_names: tuple[str, ...] = ("C", "O", "N"), name: str = "tiny") -> GraphDataset:
    """Four graphs, three of them rejected."""
    ring = Graph([0, 0, 0, 1], [[0, 1], [1, 2], [0, 2], [2, 3]], [0, 1, 0, 0])
    chain = Graph([0, 2, 1], [[0, 1], [1, 2]], [0, 0])
    return GraphDataset(
        name=name,
        graphs=(ring, chain, chain, ring.permuted([3, 2, 1, 0])),
        classes=np.array([0, 0, 1, 0], dtype=np.int8),
        label_names=label_names,
        edge_label_names=("single", "double"),
    )
