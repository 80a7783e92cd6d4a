"""Precision and recall where the truth is planted: python benchmarks/known_truth.py [--graphs 400] [--difficulties plain decoy …]

A classifier and two panels are trained on the planted set at each difficulty; its rules, all and those that other models follow, are compared with what was
planted. A counterfactual is cured if it carries no toxic group; precision is the share of changes that touch one, recall the share of kinds that some rule removes.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from comrecgc.algorithms.registry import Rules
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.data import PlantedDataset, find_toxicophores, load_planted
from comrecgc.errors import InputError
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.evidence.gathering import gather
from comrecgc.evidence.verdict import Verdict
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.models import ClassifierTraining, PanelTraining, obtain_panel, train_classifier
from comrecgc.run import LocalEngine, RunContext

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
    classes = np.array([not find_toxicophores(graph) for graph in graphs], np.int8)
    return replace(dataset, graphs=tuple(graphs), classes=classes)


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


def fitted_subject(explainer: CommonRecourseExplainer) -> EvaluatedRun:
    """What a fitted explainer found, and all that it was made from."""
    return EvaluatedRun(
        explanation=explainer.explanation_,
        dataset=explainer.dataset_,
        classifier=explainer.classifier_,
        plausibility=explainer.plausibility_,
        task=explainer.task_,
        wishes=RuleFilter() if explainer.mined_ is None else explainer.task_.algorithm.wishes(),
        mined=explainer.mined_,
        embedder=explainer.embedder_,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=400)
    parser.add_argument("--difficulties", nargs="+", default=DIFFICULTIES, choices=DIFFICULTIES)
    parser.add_argument("--max-changes", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for difficulty in options.difficulties:
        started = time.monotonic()
        dataset = planted(difficulty, num_graphs=options.graphs)
        trained = train_classifier(dataset, ClassifierTraining(epochs=300, patience=60, learning_rate=0.003))
        panels = [PanelTraining(epochs=100, patience=40, number=number) for number in (0, 1)]
        first, _ = obtain_panel(dataset, training=panels[0], engine=LocalEngine(jobs=options.jobs))
        explainer = CommonRecourseExplainer(
            trained.model,
            Rules(max_changes=options.max_changes),
            panel=first,
            num_recourses=8,
            context=RunContext(jobs=options.jobs),
        ).fit(dataset)
        evidence = gather(
            fitted_subject(explainer),
            second_panel=panels[1],
            with_controls=False,
            engine=LocalEngine(jobs=options.jobs),
        )
        followed = [k for k, it in enumerate(evidence.recourses) if _is_followed(it.verdict)]
        print(
            f"\n{difficulty}: accuracy {trained.accuracy['test']:.1%}, coverage {explainer.explanation_.coverage:.1%}, "
            f"{evidence.levels}, {time.monotonic() - started:.0f} s"
        )
        for name, chosen in (("all rules", None), (f"{len(followed)} that other models follow", followed)):
            print(f"  {name}: {_words(compare_with_planted(explainer.explanation_, dataset, chosen))}")
        for number, recourse in enumerate(evidence.recourses, start=1):
            print(f"  {number}. {recourse.summary}: {recourse.verdict.sentence}", flush=True)


def _is_followed(verdict: Verdict) -> bool:
    """Whether other models follow a rule and nothing speaks against it."""
    speaks = {finding.question: finding.speaks for finding in verdict.findings}
    return speaks.get("other models") == "for" and "against" not in speaks.values()


def _words(truth: PlantedTruth) -> str:
    shares = {"cured": truth.share_cured, "precision": truth.precision, "recall": truth.recall}
    known = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share is not None)
    return f"{truth.counterfactuals} counterfactuals, {known}"


if __name__ == "__main__":
    main()
