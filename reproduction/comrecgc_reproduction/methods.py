"""The methods that tables compare. Each turns a setup and a seed into figures: coverage, length, the curve over R."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.baselines.published import PublishedWalk, steps_in_common
from comrecgc.algorithms.baselines.registry import make_baseline
from comrecgc.algorithms.baselines.source import Baseline, Subject
from comrecgc.algorithms.baselines.summary import summarise
from comrecgc.algorithms.inputs import Rejects
from comrecgc.cover import greedy_cover
from comrecgc.data import paper_theta
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.models import predict
from comrecgc.run import reproducible
from comrecgc.scoring import NeighbourhoodScorer
from comrecgc_reproduction.setups import Setup

MOST_RECOURSES = 100
_WALKS = ("published", "gcfexplainer", "gcf-nearest", "local-walk")
_WORTH_WORKERS = 1000  # steps of a walk; to start worker processes takes longer than fewer
_MIN_SAMPLES = {"mutagenicity": 3}  # of the clusters of walks, as the authors ran them; 2 elsewhere
_CAPACITY = {"proteins": 50_000}  # of the published walk's table, as in the authors' records; its default elsewhere


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to explain, with its options.

    Args:
        name: Short name; cells are known by it.
        options: Options of `CommonRecourseExplainer`.
        baseline: Name of the baseline that finds counterfactuals; None for our own search.
        baseline_options: Options of the baseline.
        theta: `θ`; None for the dataset's.
        random: Whether a seed makes a difference.
        num_graphs: Where so many counterfactuals are the explanation rather than recourses; 0 for recourses.
        searched_by: The method whose counterfactuals this one takes, where only the choice among them differs.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    baseline_options: Mapping[str, Any] = field(default_factory=dict)
    theta: float | None = None
    random: bool = True
    num_graphs: int = 0
    searched_by: Method | None = None

    def cell(self, setup: Setup, seed: int) -> str:
        """The name of the cell: all that the figures depend on."""
        theta = self.theta or paper_theta(setup.name)
        return f"{self.name} theta {theta:g} {setup.name} {setup.model} seed {seed} {setup.scale}"

    def figures(self, setup: Setup, seed: int, kept: Path | None = None) -> dict[str, Any]:
        """Explain, and what came of it.

        Args:
            setup: The dataset and its models.
            seed: Of all that is random.
            kept: Folder that keeps the search; what `searched_by` left there is not searched for again.
        """
        if self.num_graphs:
            return self._summarised(setup, seed, kept)
        options = dict(self.options)
        if self.baseline is not None:
            options["baseline"] = self._made(setup)
            if self.baseline in _WALKS:
                options.setdefault("min_samples", _MIN_SAMPLES.get(setup.name, 2))
        if options.get("preset") == "paper":
            options["num_steps"] = setup.scale.moving_steps
        needs_embedder = options.get("recourse") != "rules"
        if needs_embedder and self.baseline is None and "preset" not in options:
            options["time_budget"] = setup.scale.search_seconds
        explainer = CommonRecourseExplainer(
            setup.classifier,
            setup.embedder if needs_embedder else None,
            theta=self.theta or paper_theta(setup.name),
            panel=False,
            jobs=setup.jobs,
            random_state=seed,
            **options,
        )
        if options.get("preset") == "paper" and setup.scale.moving_steps < _WORTH_WORKERS:
            explainer.jobs = 1
        keeps = kept if self.baseline is not None or "preset" in options else None
        resume = self.searched_by is not None
        explainer.fit(setup.dataset, progress=setup.progress, checkpoint=keeps, resume=resume)
        explanation = explainer.explanation_
        metrics = explanation.metrics
        return {
            "inputs": len(explanation.inputs),
            "coverage": explanation.coverage,
            "length": metrics.get("total_length"),
            "published_coverage": metrics.get("published_coverage"),
            "published_length": metrics.get("published_length"),
            "curve": list(explanation.coverage_curve),
            "lengths": [each.norm for each in explanation.recourses if each.norm is not None],
            "stages": dict(explanation.facts.seconds),
        }

    def _summarised(self, setup: Setup, seed: int, kept: Path | None) -> dict[str, Any]:
        """A few graphs of the baseline for all inputs; all it found, where they are fewer."""
        subject = subject_of(setup)
        with reproducible():
            found = self._made(setup).run(
                subject, np.random.default_rng(seed), checkpoint=kept, resume=self.searched_by is not None
            )
        count = min(self.num_graphs, len(found))
        chosen = summarise(found, subject, num_graphs=count, theta=self.theta or 0.1) if count else None
        return {
            "inputs": len(subject.inputs),
            "coverage": 0.0 if chosen is None else chosen.coverage,
            "median_cost": None if chosen is None else chosen.cost,
            "curve": [] if chosen is None else list(chosen.curve),
        }

    def _made(self, setup: Setup) -> Baseline:
        assert self.baseline is not None
        given = {"num_steps": setup.scale.num_steps} if self.baseline in _WALKS else {}
        if self.baseline == "published" and setup.name in _CAPACITY:
            given["capacity"] = _CAPACITY[setup.name]
        return make_baseline(self.baseline, **{**given, **self.baseline_options})


def subject_of(setup: Setup) -> Subject:
    """What a baseline explains: the rejected graphs, and the models."""
    dataset = setup.dataset
    inputs = Rejects.of(dataset, predict(setup.classifier, dataset)).graphs
    scorer = NeighbourhoodScorer(setup.classifier, setup.embedder, dataset.num_labels, num_threads=setup.jobs)
    return Subject(scorer=scorer, inputs=inputs, graphs=dataset.graphs)


def in_common_without_clusters(setup: Setup, seed: int) -> dict[str, Any]:
    """Coverage of a hundred recourses as the published walk meets them: each step's lead, and the heads within Δ of it."""
    subject, theta = subject_of(setup), paper_theta(setup.name)
    walk = PublishedWalk(num_steps=setup.scale.num_steps)
    with reproducible():
        sets = steps_in_common(walk, subject, np.random.default_rng(seed), theta=theta, delta=0.02)
    incidence = np.zeros((max(len(sets), 1), len(subject.inputs)), dtype=bool)
    for row, inputs in enumerate(sets):
        incidence[row, list(inputs)] = True
    covered = greedy_cover(incidence, MOST_RECOURSES).covered
    return {"inputs": len(subject.inputs), "sets": len(sets), "coverage": covered / max(len(subject.inputs), 1)}


def published(heads: int, *, problem: str = "fcr", delta: float = 0.02, theta: float | None = None) -> Method:
    """COMRECGC as its authors ran it."""
    plain = (problem, delta, theta) == ("fcr", 0.02, None)
    return Method(
        name=f"published {heads} heads {problem} delta {delta:g}",
        baseline="published",
        baseline_options={"num_heads": heads},
        options={"problem": problem, "delta": delta, "num_recourses": MOST_RECOURSES},
        theta=theta,
        searched_by=None if plain else published(heads),
    )


def moving_walk(heads: int = 5, *, problem: str = "fcr") -> Method:
    """The paper's walk as its text has it: heads advance."""
    return Method(
        name=f"moving walk {heads} heads {problem}",
        options={"preset": "paper", "num_heads": heads, "problem": problem, "num_recourses": MOST_RECOURSES},
        searched_by=None if problem == "fcr" else moving_walk(heads),
    )


def source(name: str, *, problem: str = "fcr", **options: Any) -> Method:
    """Recourses from the counterfactuals of a baseline."""
    if (name, problem) == ("gcfexplainer", "fc"):
        options.setdefault("min_samples", 2)  # on every dataset, unlike the other rows
    return Method(
        name=f"{name} {problem}",
        baseline=name,
        options={"problem": problem, "num_recourses": MOST_RECOURSES, **options},
        random=name != "dataset",
        searched_by=_walk_of(name, problem),
    )


def _walk_of(name: str, problem: str) -> Method | None:
    """GCFExplainer's walk is that of three rows."""
    is_another = name == "gcf-nearest" or (name == "gcfexplainer" and problem != "fcr")
    return source("gcfexplainer") if is_another else None


def summary(name: str) -> Method:
    """Ten graphs of a baseline, at θ = 0.1 throughout."""
    return Method(
        name=f"{name} ten graphs", baseline=name, num_graphs=10, theta=0.1, random=name != "dataset",
        searched_by=_walk_of(name, "ten"),
    )  # fmt: skip


def vectors(*, delta: float = 0.02, problem: str = "fcr", theta: float | None = None) -> Method:
    """Our search for vectors, any change."""
    return Method(
        name=f"vectors {problem} delta {delta:g}",
        options={
            "recourse": "vectors", "changes": "any", "delta": delta, "problem": problem, "num_recourses": MOST_RECOURSES,
        },
        theta=theta,
    )  # fmt: skip


def rules(changes: str, *, theta: float | None = None) -> Method:
    """Our rules on a rung of changes."""
    return Method(
        name=f"rules {changes}",
        options={"recourse": "rules", "changes": changes, "num_recourses": MOST_RECOURSES},
        theta=theta,
        random=False,
    )
