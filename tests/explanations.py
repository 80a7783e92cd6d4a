"""Explanations made by hand, for tests: from the planted dataset, whose true recourses are known, or of any size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from comrecgc.cover import Reason
from comrecgc.data import DatasetIndex, GraphDataset, load_planted
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation
from comrecgc.explanation.records import AtHand, RejectedInput, RunFacts, Uncovered
from comrecgc.graphs import (
    EditPath,
    Graph,
    NeighbourIndex,
    Pattern,
    Rule,
    apply_edit,
    apply_path,
    carry_out,
    edits_between,
    one_edit_table,
)
from comrecgc.graphs.rewriting import find_sites
from comrecgc.wording import RuleAt, describe_recourse, describe_rules
from tests.data.true_recourses import true_recourses

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
            [(dataset.graphs[index], path) for index, path in (group if in_words else group[:1])], dataset.schema
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
        schema=dataset.schema,
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
        warnings=warnings,
        notes=dataset.notes,
        at_hand=AtHand(FACTS),
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


NITRO_TO_FLUORINE = Rule(
    Pattern((0, 2, 1, 1), ((0, 1), (1, 2), (1, 3)), (0, 1, 0)),
    Pattern((0, 4), ((0, 1),), (0,)),
    kept=((0, 0),),
    closed=(False, True, True, True),
)
OPENED_EPOXIDE = Rule(
    Pattern((0, 0, 1), ((0, 1), (0, 2), (1, 2)), (0, 0, 0)),
    Pattern((0, 0, 1), ((0, 1), (0, 2)), (0, 0)),
    kept=((0, 0), (1, 1), (2, 2)),
    closed=(False, False, True),
    radius=1,
)
DOUBLE_BOND_TO_SINGLE = Rule(
    Pattern((2, 1), ((0, 1),), (1,)), Pattern((2, 1), ((0, 1),), (0,)), kept=((0, 0), (1, 1)), closed=(False, True)
)


def explain_by_rules(
    dataset: GraphDataset,
    rules: Sequence[Rule],
    *,
    smirks: str | None = None,
    has_panel: bool = True,
    warnings: tuple[str, ...] = (),
) -> Explanation:
    """An explanation by some rules, each covering the rejected graphs that it can be carried out on; a twelfth is spared."""
    inputs = {
        index: RejectedInput(graph, 0.9) for index, graph in enumerate(dataset.graphs) if dataset.classes[index] == 0
    }
    recourses: list[CommonRecourse] = []
    seen: list[int] = []
    for rule in rules:
        found = {index: next(find_sites(rule, NeighbourIndex(it.graph)), None) for index, it in inputs.items()}
        can = [index for index, site in found.items() if site is not None]
        turned = [index for index in can if index % 12]
        members = []
        for index in (index for index in turned if index not in seen):
            graph, site = inputs[index].graph, found[index]
            assert site is not None
            after = carry_out(rule, graph, site)
            members.append(
                CoveredInput(
                    input=DatasetIndex(index),
                    probability=0.8,
                    distance=rule.distance(graph),
                    num_edits=rule.cost,
                    edits=edits_between(graph, after),
                    counterfactual=after,
                    site=site,
                    cost=rule.cost,
                )
            )
        (words,) = describe_rules([RuleAt(rule)], dataset.schema)
        recourses.append(
            CommonRecourse(
                rule=rule,
                smirks=smirks,
                summary=words.summary,
                description=words.description,
                statistics={
                    "applicable": len(can),
                    "accepted": len(turned),
                    "success": len(turned) / max(1, len(can)),
                    "interval": [0.714, 0.853],
                    "held_out": {"success": 0.78, "seen_success": 0.79},
                    "random_success": 0.2,
                    "median_rise": 0.61,
                    "confirmed": len(turned) // 2 if has_panel else None,
                    "cost": rule.cost,
                },
                covered=tuple(members),
                also_covers=tuple(index for index in turned if index in seen),
                share_valid=1.0 if dataset.is_molecular else None,
            )
        )
        seen += [member.input for member in members]
    reasons = [Reason.NO_COUNTERFACTUAL, Reason.BUDGET_EXHAUSTED]
    left = sorted(set(inputs) - set(seen))
    return Explanation(
        schema=dataset.schema,
        recourse="rules",
        changes="plausible",
        parameters={"theta": 0.1, "num_recourses": len(rules), "seed": 0},
        metrics={
            "coverage": len(seen) / len(inputs),
            "held_out_coverage": 0.771,
            "coverage_bound": 0.994,
            "coverage_up_to_one_changes": 0.4,
            "coverage_up_to_two_changes": 0.552,
            "mean_cost": 4.2,
            "num_rules": 4000,
            **({"confirmed_coverage": 0.123} if has_panel else {}),
            "num_inputs": len(inputs),
            "num_recourses": len(rules),
        },
        inputs=inputs,
        recourses=tuple(recourses),
        uncovered=tuple(Uncovered(input=DatasetIndex(index), reason=reasons[index % 4 // 2]) for index in left),
        warnings=warnings,
        notes=("A panel of 4 given classifiers was asked too.",) if has_panel else (),
        at_hand=AtHand(FACTS),
    )


def planted_rules(num_graphs: int = 120, *, has_panel: bool = True) -> Explanation:
    """The planted dataset explained by rules that undo two of its three groups."""
    rules = (NITRO_TO_FLUORINE, OPENED_EPOXIDE, DOUBLE_BOND_TO_SINGLE)
    return explain_by_rules(
        load_planted(0, num_graphs=num_graphs),
        rules,
        smirks="[C:1][N](=[O])[O]>>[C:1][F]",
        has_panel=has_panel,
        warnings=("A warning for rules.",),
    )


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
        graphs=(ring, chain, chain, ring.permute([3, 2, 1, 0])),
        classes=np.array([0, 0, 1, 0], dtype=np.int8),
        label_names=label_names,
        edge_label_names=("single", "double"),
    )
