"""The methods that tables compare. Each computes figures from a setup and a seed: coverage, length, the curve over R."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.base import Algorithm
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject
from comrecgc.algorithms.baselines.edge_masks import CFGNNExplainer
from comrecgc.algorithms.baselines.published import PublishedWalk, PublishedWalker
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.cover import PublishedClustering, greedy_cover, pairs_within
from comrecgc.data import paper_theta
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Graph
from comrecgc.models import predict
from comrecgc.run import RunContext, reproducible
from comrecgc.scoring import EditMemory, NeighbourhoodScorer
from comrecgc_reproduction.setups import Setup
from comrecgc_reproduction.summary import summarise

MOST_RECOURSES = 100
_WALKS = ("published", "gcfexplainer", "gcf-nearest", "localwalk")
_WORTH_WORKERS = 1000  # steps of a walk; to start worker processes takes longer than fewer
_MIN_SAMPLES = {"mutagenicity": 3}  # of the clusters of walks, as the authors ran them; 2 elsewhere
_CAPACITY = {"proteins": 50_000}  # of the published walk's table, as in the authors' records; its default elsewhere

_MEMORY = EditMemory(1 << 30)  # of the published walks of one process: they score the same edits of the same inputs


@dataclass(frozen=True, kw_only=True)
class SharedWalk(PublishedWalk):
    """The published walk with a memory that all walks of the process share, so that an edit is embedded once."""

    def memory(self) -> EditMemory:
        """The memory of the process."""
        return _MEMORY


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to explain, with its options.

    Args:
        name: Short name, part of the names of cells.
        algorithm: Name of the algorithm.
        options: Its options.
        theta: `θ`; None for the dataset's.
        random: Whether the result depends on the seed.
        num_graphs: Number of counterfactuals, if these rather than recourses are the explanation; 0 for recourses.
        searched_by: The method whose counterfactuals this one uses, if only the choice among them differs.
    """

    name: str
    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    theta: float | None = None
    random: bool = True
    num_graphs: int = 0
    searched_by: Method | None = None

    def cell(self, setup: Setup, seed: int) -> str:
        """The name of the cell, with everything the figures depend on."""
        theta = self.theta or paper_theta(setup.name)
        return f"{self.name} theta {theta:g} {setup.label} seed {seed} {setup.scale}"

    def figures(self, setup: Setup, seed: int, kept: Path | None = None) -> dict[str, Any]:
        """Run the method and return its figures.

        Args:
            setup: The dataset and its models.
            seed: Seed of everything random.
            kept: Folder for the search; a search that `searched_by` left there is used again.
        """
        if self.num_graphs:
            return self._summarised(setup, seed, kept)
        few_steps = self.algorithm == "paper" and setup.scale.num_steps < _WORTH_WORKERS
        explainer = CommonRecourseExplainer(
            setup.classifier,
            self._made(setup),
            theta=self.theta or paper_theta(setup.name),
            num_recourses=MOST_RECOURSES,
            panel=False,
            jury=False,
            random_state=seed,
            context=RunContext(
                jobs=1 if few_steps else setup.jobs,
                time_budget=setup.scale.search_seconds if self.algorithm == "vectors" else None,
                progress=setup.progress,
                checkpoint=None if self.algorithm == "rules" else kept,
                resume=self.searched_by is not None,
            ),
        ).fit(setup.dataset)
        explanation = explainer.explanation_
        metrics = explanation.metrics
        return {
            "inputs": len(explanation.inputs),
            "coverage": explanation.coverage,
            "length": metrics.get("total_length"),
            "published_coverage": metrics.get("published_coverage"),
            "published_length": metrics.get("published_length"),
            "curve": [round(share, 6) for share in explanation.coverage_curve],
            "lengths": [round(each.norm, 6) for each in explanation.recourses if each.norm is not None],
            "stages": dict(explanation.facts.seconds),
        }

    def _summarised(self, setup: Setup, seed: int, kept: Path | None) -> dict[str, Any]:
        """A few graphs of the baseline for all inputs; all that it found, if they are fewer."""
        with reproducible():  # whatever the number of cores, and whether the run was resumed
            subject, baseline = subject_of(setup), self._made(setup)
            assert isinstance(baseline, Baseline)
            found = baseline.run(
                subject, np.random.default_rng(seed), RunContext(checkpoint=kept, resume=self.searched_by is not None)
            )
            count = min(self.num_graphs, len(found))
            chosen = summarise(found, subject, num_graphs=count, theta=self.theta or 0.1) if count else None
        return {
            "inputs": len(subject.inputs),
            "coverage": 0.0 if chosen is None else chosen.coverage,
            "median_cost": None if chosen is None else chosen.cost,
            "curve": [] if chosen is None else [round(share, 6) for share in chosen.curve],
        }

    def _made(self, setup: Setup) -> Algorithm:
        given: dict[str, Any] = {} if self.algorithm == "rules" else {"embedder": setup.embedder}
        if self.algorithm in (*_WALKS, "paper"):
            given["num_steps"] = setup.scale.num_steps
        if self.algorithm in _WALKS:
            given["min_samples"] = _MIN_SAMPLES.get(setup.name, 2)
        if self.algorithm == "published" and setup.name in _CAPACITY:
            given["capacity"] = _CAPACITY[setup.name]
        if self.algorithm == "published":
            return SharedWalk.from_options({**given, **self.options})
        return algorithm_of(self.algorithm, {**given, **self.options})


def subject_of(setup: Setup) -> Subject:
    """The subject of a baseline: the rejected graphs, and the models."""
    dataset = setup.dataset
    inputs = Rejects.of(dataset, predict(setup.classifier, dataset)).graphs
    scorer = NeighbourhoodScorer(setup.classifier, setup.embedder, dataset.num_labels, num_threads=setup.jobs)
    return Subject(scorer=scorer, inputs=inputs, graphs=dataset.graphs)


def in_common_without_clusters(setup: Setup, seed: int, *, heads: int = 5, delta: float = 0.02) -> dict[str, Any]:
    """Coverage of a hundred recourses taken from the steps of the published walk: each step's lead, and the heads within Δ of it."""
    theta = paper_theta(setup.name)
    walk = PublishedWalk(num_steps=setup.scale.num_steps, num_heads=heads)
    with reproducible():
        subject = subject_of(setup)
        sets = steps_in_common(walk, subject, np.random.default_rng(seed), theta=theta, delta=delta)
    incidence = np.zeros((max(len(sets), 1), len(subject.inputs)), dtype=bool)
    for row, inputs in enumerate(sets):
        incidence[row, list(inputs)] = True
    covered = greedy_cover(incidence, MOST_RECOURSES).covered
    return {"inputs": len(subject.inputs), "sets": len(sets), "coverage": covered / max(len(subject.inputs), 1)}


def masks_without_isolated_nodes(setup: Setup, seed: int) -> dict[str, Any]:
    """Coverage of CF-GNNExplainer's recourses if nodes that lose their last edge are dropped, and only what is still accepted counts."""
    theta, least = paper_theta(setup.name), _MIN_SAMPLES.get(setup.name, 2)
    with reproducible():
        subject = subject_of(setup)
        found = without_isolated_nodes(subject, CFGNNExplainer().run(subject, np.random.default_rng(seed)))
        chosen = None
        if found.found:
            ends = subject.embedded([each.graph for each in found.found])
            pairs = pairs_within(*subject.embedded(subject.inputs), *ends, theta)
            clustering = PublishedClustering(theta=theta, delta=0.02, num_recourses=MOST_RECOURSES, min_samples=least)
            chosen = clustering.choose(pairs)
    return {
        "inputs": len(subject.inputs),
        "found": len(found),
        "coverage": 0.0 if chosen is None else chosen.coverage,
        "length": 0.0 if chosen is None else chosen.total_length,
    }


def without_isolated_nodes(subject: Subject, found: Counterfactuals) -> Counterfactuals:
    """The counterfactuals without their isolated nodes, where the classifier still accepts them."""
    smaller = []
    for each in found.found:
        kept = each.graph.degrees() > 0
        if kept.any():
            place = np.cumsum(kept) - 1
            smaller.append(replace(each, graph=Graph(each.graph.labels[kept], place[each.graph.edges])))
    accepted = subject.accepted([each.graph for each in smaller]) > 0.5
    return Counterfactuals(tuple(each for each, is_accepted in zip(smaller, accepted, strict=True) if is_accepted))


def steps_in_common(
    walk: PublishedWalk, subject: Subject, rng: np.random.Generator, *, theta: float, delta: float
) -> list[frozenset[int]]:
    """Sets of at least two inputs that shared a recourse in some step, each set once: the lead's input and those whose heads came within `Δ` of its
    vector, all with accepted graphs within `θ`. These are the common recourses of the walk itself, before any clusters.

    Args:
        walk: The walk.
        subject: The models and the graphs.
        rng: Source of all randomness.
        theta: Largest length of a vector.
        delta: Largest distance of two vectors that are the same recourse.
    """
    walker = PublishedWalker(walk, subject, seed=int(rng.integers(2**63)), memory=_MEMORY)
    state, sets = walker.begin(rng), dict[frozenset[int], None]()
    for _ in range(walk.num_steps):
        walker.step(state)
        choices = state.chosen
        stand = [each for each in choices if each.accepted and np.linalg.norm(each.recourse) <= theta]
        if choices and choices[0] in stand:
            gaps = [np.linalg.norm(each.recourse - choices[0].recourse) for each in stand]
            sets[frozenset(each.origin[0] for each, gap in zip(stand, gaps, strict=True) if gap <= delta)] = None
    return [inputs for inputs in sets if len(inputs) > 1]


def published(
    heads: int, *, problem: str = "fcr", delta: float = 0.02, theta: float | None = None, **options: float
) -> Method:
    """COMRECGC as its authors ran it, with other options where some are given."""
    of_search: dict[str, Any] = {key: value for key, value in options.items() if key != "min_samples"}
    plain = (problem, delta, theta, of_search) == ("fcr", 0.02, None, options)
    return Method(
        name=_named(f"published {heads} heads {problem} delta {delta:g}", options),
        algorithm="published",
        options={"num_heads": heads, "problem": problem, "delta": delta, **options},
        theta=theta,
        searched_by=None if plain else published(heads, **of_search),
    )


def _named(name: str, options: Mapping[str, Any]) -> str:
    return " ".join([name, *(f"{key} {value:g}" for key, value in options.items())])


def moving_walk(heads: int = 5, *, problem: str = "fcr") -> Method:
    """The walk of the paper's text, in which heads advance."""
    return Method(
        name=f"moving walk {heads} heads {problem}",
        algorithm="paper",
        options={"num_heads": heads, "problem": problem},
        searched_by=None if problem == "fcr" else moving_walk(heads),
    )


def source(name: str, *, problem: str = "fcr", **options: Any) -> Method:
    """Recourses from the counterfactuals of a baseline, with other options than its defaults where some are given."""
    of_search = {key: value for key, value in options.items() if key != "min_samples"}
    least = (
        {"min_samples": 2} if (name, problem) == ("gcfexplainer", "fc") else {}
    )  # on every dataset, unlike other rows
    return Method(
        name=_named(f"{name} {problem}", options),
        algorithm=name,
        options={"problem": problem, **least, **options},
        random=name != "dataset",
        searched_by=_walk_of(name, problem) or (source(name, **of_search) if of_search != options else None),
    )


def _walk_of(name: str, problem: str) -> Method | None:
    """The method whose walk a row uses; three rows share GCFExplainer's."""
    is_another = name == "gcf-nearest" or (name == "gcfexplainer" and problem != "fcr")
    return source("gcfexplainer") if is_another else None


def summary(name: str, **options: float) -> Method:
    """Ten graphs of a baseline, at θ = 0.1 throughout."""
    return Method(
        name=_named(f"{name} ten graphs", options), algorithm=name, options=options, num_graphs=10, theta=0.1,
        random=name != "dataset", searched_by=_walk_of(name, "ten"),
    )  # fmt: skip


def vectors(*, problem: str = "fcr") -> Method:
    """Our search for vectors, any change."""
    options = {"changes": "any", "delta": 0.02, "problem": problem}
    shared = None if problem == "fcr" else vectors()
    return Method(name=f"vectors {problem}", algorithm="vectors", options=options, searched_by=shared)


def rules(changes: str, *, theta: float | None = None) -> Method:
    """Our rules on a rung of changes, chosen for the measure of the tables: rejects that the classifier then accepts."""
    return Method(
        name=f"rules {changes}",
        algorithm="rules",
        options={"changes": changes, "choose": "coverage"},
        theta=theta,
        random=False,
    )
