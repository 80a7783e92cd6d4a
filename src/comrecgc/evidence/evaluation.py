"""Every figure of a run recomputed from its stored graphs and its models, by plain forward passes; and the inputs of a run.

Most claims show their graph in `explanation.json`. Those that do not, `also_covers` and trivial coverage, have a witness in
`witnesses.npz`: the counterfactual that proves the claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc import explanation as explanations
from comrecgc import models as stored_models
from comrecgc.algorithms.base import Task, VectorTask
from comrecgc.algorithms.inputs import ModelPair, Rejects, Scores, with_label_names
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.cover import Cover, recourse_vectors
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation, Verified, stored_task
from comrecgc.graphs import BoolArray, Graph, GraphBatch
from comrecgc.models import Classifier, Embedder, ModelFile
from comrecgc.molecules import ladder_from_facts
from comrecgc.run import load_arrays, refusing_damage, reproducible, save_arrays

MOST_RESULTS = 300  # results of a recourse that are looked at; more would not change a share by more than some points


def data_of_run(folder: Path, explanation: Explanation, dataset: GraphDataset) -> GraphDataset:
    """A dataset over the labels of a run; an error if its graphs are not those of the run."""
    dataset = with_label_names(dataset, explanation.schema.label_names)
    for index, it in explanation.inputs.items():
        if index >= len(dataset) or it.graph != dataset.graphs[index]:
            raise InputError(f"--dataset must be the data that {folder} explains (graph {index} differs)")
    return dataset


def run_models(
    folder: Path, explanation: Explanation, *, classifier: str | Path | None = None, embedder: str | Path | None = None
) -> ModelPair:
    """The models a run was made with."""
    named = explanation.facts.facts.get("models")
    paths = {}
    for what, given in (("classifier", classifier), ("embedder", embedder)):
        entry = named.get(what) if isinstance(named, dict) else None
        if given is not None:
            paths[what] = Path(given)
        elif isinstance(entry, dict) and isinstance(entry.get("path"), str) and isinstance(entry.get("sha256"), str):
            paths[what] = ModelFile(entry["path"], entry["sha256"]).find(folder, what)
        elif what == "classifier" or (explanation.recourse == "vectors" and explanation.inputs):
            raise InputError(
                f"{folder} does not name its {what}: give it with --{what} FILE, or in Python open_run(folder, {what}=model)"
            )
    names = explanation.schema.label_names
    model: Classifier = stored_models.load_classifier(paths["classifier"], label_names=names)
    if isinstance(numbers := explanation.facts.facts.get(explanations.NUMBERS), dict):
        model = explanations.stored_goal(numbers, model)
    return ModelPair(
        model, stored_models.load_embedder(paths["embedder"], label_names=names) if "embedder" in paths else None
    )


def run_plausibility(folder: Path, explanation: Explanation) -> Plausibility:
    """The ladder of changes a run was made with, and its panel."""
    facts = explanation.facts.facts
    files = facts.get("panel", [])
    try:
        paths = [ModelFile(str(file["path"]), str(file["sha256"])).find(folder, "panel") for file in files]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: the panel must be a list of files with their checksums") from error
    names = explanation.schema.label_names
    panel = stored_models.load_panel(paths, label_names=names, unanimous=facts.get("agree") is True) if paths else None
    return Plausibility(ladder=ladder_from_facts(facts.get("ladder"), names), panel=panel)


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatedRun:
    """An explanation with its models, plausibility and data."""

    explanation: Explanation
    dataset: GraphDataset  # all graphs, with their true labels
    classifier: Classifier
    plausibility: Plausibility
    task: Task[Any]
    wishes: RuleFilter  # what chosen rules had to be like
    mined: MinedRules | None = None  # none for vectors
    embedder: Embedder | None = None  # none for rules
    # Of every graph by its index in the explanation, if not those of the dataset.
    labels: npt.NDArray[np.int8] | None = None
    # Other results of vectors, as pairs of graphs, for inputs that an earlier one covers already; the table of rules knows its own.
    shown_again: Sequence[Sequence[tuple[Graph, Graph]]] = ()

    @classmethod
    def of_run(
        cls, folder: Path, explanation: Explanation, models: ModelPair, dataset: GraphDataset | None = None
    ) -> EvaluatedRun:
        """A finished run with its models and data; without `dataset` only its inputs are available."""
        if explanation.facts.facts.get("ladder") is None:
            raise InputError(f"{folder} does not keep the ladder of changes it was found with")
        has_table = explanations.RULES in explanation.facts.facts
        mined = explanations.rule_chooser(folder, explanation).mined if has_table else None
        if mined is not None and dataset is not None:
            # The table is of the inputs alone; groups and familiar surroundings are those of all the data.
            mined = replace(mined, rejects=replace(mined.rejects, dataset=dataset))
        return cls(
            explanation=explanation,
            dataset=explanations.stored_rejects(explanation).dataset if dataset is None else dataset,
            classifier=models.classifier,
            plausibility=run_plausibility(folder, explanation),
            task=stored_task(explanation),
            wishes=explanations.stored_wishes(explanation),
            mined=mined,
            embedder=models.embedder,
        )

    @property
    def seed(self) -> int:
        return self.task.random_state

    @cached_property
    def rows(self) -> npt.NDArray[np.int64] | None:
        """Row of the table of each recourse; None without a table."""
        rows = [recourse.row for recourse in self.explanation.recourses if recourse.row is not None]
        return None if self.mined is None else np.array(rows, np.int64)

    def labelled_reject(self, place: int) -> tuple[int, int]:
        """Number of inputs turned by one recourse that are truly labelled reject, and number turned."""
        recourse = self.explanation.recourses[place]
        labels = self.dataset.classes if self.labels is None else self.labels
        indices = [*(member.input for member in recourse.covered), *recourse.also_covers]
        return int((labels[indices] == 0).sum()), len(indices)

    @cached_property
    def results(self) -> list[list[tuple[Graph, Graph]]]:
        """For each recourse, inputs that it turns and their results; at most `MOST_RESULTS`, the same for the same seed."""
        return [self._results(place) for place in range(len(self.explanation.recourses))]

    def _results(self, place: int) -> list[tuple[Graph, Graph]]:
        rng = np.random.default_rng([self.seed, 20, place])
        if self.rows is None or self.mined is None:
            inputs = self.explanation.inputs
            covered = self.explanation.recourses[place].covered
            pairs = [(inputs[member.input].graph, member.counterfactual) for member in covered]
            pairs += self.shown_again[place] if self.shown_again else []
            return [pairs[k] for k in np.sort(rng.permutation(len(pairs))[:MOST_RESULTS]).tolist()]
        table, row = self.mined.table, int(self.rows[place])
        entries = table.entries_of(row)
        entries = entries[self.wishes.counts(table)[entries]]
        entries = entries[np.sort(rng.permutation(len(entries))[:MOST_RESULTS])]
        graphs = self.mined.rejects.graphs
        batch, _ = self.mined.scorer.built(table.entries.input[entries], table.entries.change[entries].astype(np.int32))
        return [(graphs[i], batch[k]) for k, i in enumerate(table.entries.input[entries].tolist())]


# The figures again.


TOLERANCE = 1e-5  # of probabilities and distances: what another batch or machine may round differently

WITNESSES = "witnesses.npz"
"""File of all confirmed pairs of a run by vectors."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run."""

    name: str
    stored: float | None  # as the run states it; None if it does not
    recomputed: float | None  # from its graphs and models; None if not recomputed
    why: str = ""  # it is not recomputed

    @property
    def agrees(self) -> bool:
        """Whether both values agree up to rounding; missing values count as agreement."""
        if self.stored is None or self.recomputed is None:
            return True
        return math.isclose(self.stored, self.recomputed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


BORDERLINE = "counterfactuals within 1e-5 of theta, delta or one half"


TRIVIAL = -1
"""Stands for the recourse "change nothing"."""

_NAMES = ("labels", "edges", "node_ptr", "edge_ptr")
_KINDS = {"claims": "i2", "labels": "i1", "edges": "i2", "node_ptr": "i1", "edge_ptr": "i1"}


def evaluate_run(
    folder: str | Path, models: ModelPair | None = None, dataset: GraphDataset | None = None
) -> list[Figure]:
    """Check a run folder.

    Args:
        folder: The run folder.
        models: Classifier and embedder; None for those the manifest names, whose checksums must fit.
        dataset: The data of the run with its classes, to train the jury again; None leaves out what the jury says.
    """
    from comrecgc.evidence.rule_evaluation import recheck_rules

    folder = Path(folder)
    explanation = Explanation.load(folder)
    dataset = None if dataset is None else data_of_run(folder, explanation, dataset)
    models = run_models(folder, explanation) if models is None else models
    with reproducible():
        if explanation.recourse == "rules":
            return recheck_rules(EvaluatedRun.of_run(folder, explanation, models), dataset)
        plausibility = run_plausibility(folder, explanation) if "ladder" in explanation.facts.facts else None
        return recheck(explanation, models, run_witnesses(folder, explanation), plausibility)


def run_witnesses(folder: Path, explanation: Explanation) -> Witnesses | None:
    """The witnesses of a run; None if it keeps none."""
    stated = explanation.facts.facts.get(WITNESSES)
    if stated is None:
        return None
    if stored_models.checksum(folder / WITNESSES) != stated:
        raise InputError(f"{folder / WITNESSES} is damaged: its SHA-256 must be the one in the manifest")
    return load_witnesses(folder / WITNESSES)


def recheck(
    explanation: Explanation,
    models: ModelPair,
    witnesses: Witnesses | None = None,
    plausibility: Plausibility | None = None,
) -> list[Figure]:
    """The figures of an explanation by vectors, as stated and as recomputed from its graphs and the models.

    Without witnesses `also_covers` is taken as stated, and trivial coverage is not recomputed. Without plausibility the shares on each rung are not recomputed.
    """
    inputs = models.scores(it.graph for it in explanation.inputs.values()) if explanation.inputs else None
    if inputs is None:
        return [Figure(name, value or 0, value) for name, value in explanation.metrics.items()]
    task = stored_task(explanation)
    assert isinstance(task, VectorTask)
    shown, figures = _shown_claims(explanation, models, inputs, task)
    covers, trivial = _all_claims(explanation, models, inputs, shown, witnesses, task)
    cover = Cover(_centres(explanation), np.where(covers, 0, -1))
    recomputed: dict[str, float | None] = dict(explanations.run_figures(cover, task.delta, 0.0))
    recomputed["trivial_coverage"] = trivial
    if plausibility is not None:
        verdicts = plausibility.judge(*explanation.counterfactuals)
        recomputed |= verdicts.shares() | verdicts.coverage(len(explanation.inputs))
    figures += [Figure("rejected inputs", len(explanation.inputs), int((inputs.probability <= 0.5).sum()))]
    return figures + metric_figures(explanation, recomputed, {})


def metric_figures(
    explanation: Explanation, recomputed: Mapping[str, float | None], why: Mapping[str, str]
) -> list[Figure]:
    """The metrics that a run states, each with its recomputed value, or the reason why it has none."""
    stated = {name: float(value) for name, value in explanation.metrics.items() if value is not None}
    reasons = {name: "" if name in recomputed else why.get(name, "") for name in stated}
    return [Figure(name, value, recomputed.get(name), reasons[name]) for name, value in stated.items()]


def _centres(explanation: Explanation) -> npt.NDArray[np.float32]:
    vectors = [recourse.vector for recourse in explanation.recourses if recourse.vector is not None]
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), len(vectors[0]) if vectors else 1)


def _shown_claims(
    explanation: Explanation, models: ModelPair, inputs: Scores, task: VectorTask
) -> tuple[BoolArray, list[Figure]]:
    """Which of the counterfactuals shown hold, as `[R, num_inputs]`, and the errors of their stated figures."""
    place = {index: i for i, index in enumerate(explanation.inputs)}
    holds = np.zeros((len(explanation.recourses), len(place)), dtype=np.bool_)
    entries = [(r, member) for r, recourse in enumerate(explanation.recourses) for member in recourse.covered]
    if not entries:
        return holds, []
    scores = models.scores(member.counterfactual for _, member in entries)
    owners = np.array([place[member.input] for _, member in entries])
    recourses = np.array([r for r, _ in entries])
    fine, lengths, gaps = _measure(inputs, owners, scores, _centres(explanation)[recourses], task)
    holds[recourses[fine], owners[fine]] = True
    stated = np.array([(member.probability, member.distance) for _, member in entries])
    same = np.abs(stated - np.stack([scores.probability, lengths], axis=1)).max(axis=1) <= TOLERANCE * 10
    # So near to a limit another machine's rounding might decide otherwise.
    margins = np.stack([np.abs(scores.probability - 0.5), np.abs(lengths - task.theta), np.abs(gaps - task.delta)])
    return holds, [
        Figure("counterfactuals accepted, within theta and delta", len(entries), int(fine.sum())),
        Figure("probabilities and distances as stated", len(entries), int(same.sum())),
        Figure(BORDERLINE, None, int((margins.min(axis=0) <= TOLERANCE).sum())),
    ]


def _all_claims(
    explanation: Explanation,
    models: ModelPair,
    inputs: Scores,
    shown: BoolArray,
    witnesses: Witnesses | None,
    task: VectorTask,
) -> tuple[BoolArray, float | None]:
    """Which inputs each recourse covers, `[R, num_inputs]`, and the trivial coverage."""
    place = {index: i for i, index in enumerate(explanation.inputs)}
    covers = shown.copy()
    also = [(r, place[index]) for r, recourse in enumerate(explanation.recourses) for index in recourse.also_covers]
    if witnesses is None:
        for r, i in also:
            covers[r, i] = True
        return covers, None
    claims = witnesses.claims
    known = np.isin(claims[:, 1], list(place)) & (claims[:, 0] < len(covers)) & (claims[:, 2] < len(witnesses.graphs))
    claims = claims[known]
    owners = np.array([place[index] for index in claims[:, 1].tolist()], dtype=np.int64)
    centres = np.concatenate([_centres(explanation), np.zeros((1, inputs.embedding.shape[1]), np.float32)])
    scores = models.scores(witnesses.graphs)
    fine, _, _ = _measure(inputs, owners, scores[claims[:, 2]], centres[claims[:, 0]], task)
    witnessed = np.zeros((len(centres), len(place)), dtype=np.bool_)
    witnessed[claims[fine, 0], owners[fine]] = True  # the recourse −1 is the last row
    for r, i in also:
        covers[r, i] = witnessed[r, i]
    return covers, float(witnessed[TRIVIAL].mean())


def _measure(
    inputs: Scores, owners: npt.NDArray[np.int64], scores: Scores, centres: npt.NDArray[np.float32], task: VectorTask
) -> tuple[BoolArray, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of each counterfactual: whether it is accepted and within θ and Δ, `d(G, H)`, and how far its vector is from the recourse."""
    vectors = recourse_vectors(
        inputs.embedding[owners], inputs.sizes[owners], scores.embedding.astype(np.float64), scores.sizes
    )
    lengths, gaps = np.linalg.norm(vectors, axis=1), explanations.distances(vectors.astype(np.float32), centres)
    fine: BoolArray = (scores.probability > 0.5) & (lengths <= task.theta) & (gaps <= task.delta)
    return fine, lengths, gaps


class Witnesses(NamedTuple):
    """Counterfactuals, and the claims that they prove: rows (recourse, index of the input in the dataset, place in `graphs`), `[n, 3]`."""

    graphs: GraphBatch
    claims: npt.NDArray[np.int64]


def witnesses_of(verified: Verified, rejects: Rejects) -> Witnesses:
    """The counterfactuals by which recourses, and "change nothing", cover inputs."""
    recourses, inputs = np.nonzero(verified.cover.covers)
    rows = verified.cover.pairs[recourses, inputs]
    trivial = np.flatnonzero(verified.trivial >= 0)
    graphs = verified.pairs.candidates[np.concatenate([rows, verified.trivial[trivial]])]
    used, place = np.unique(graphs, return_inverse=True)
    of = np.concatenate([recourses, np.full(len(trivial), TRIVIAL)])
    claims = np.stack([of, rejects.indices[np.concatenate([inputs, trivial])], place], axis=1)
    return Witnesses(GraphBatch.from_graphs(verified.graphs[i] for i in used), claims.astype(np.int64))


def save_witnesses(witnesses: Witnesses, path: Path) -> None:
    """Write them as plain arrays."""
    arrays = {name: getattr(witnesses.graphs, name) for name in _NAMES}
    if witnesses.graphs.edge_labels is not None:
        arrays["edge_labels"] = witnesses.graphs.edge_labels
    save_arrays(path, {"claims": witnesses.claims, **arrays}, compress=True)


def load_witnesses(path: Path) -> Witnesses:
    """Read them."""
    arrays, _ = load_arrays(path, _KINDS, optional={"edge_labels": "i1"}, compressed=True, advice="")
    with refusing_damage(path, advice=""):
        claims = arrays.pop("claims")
        graphs = GraphBatch(**arrays)
        list(graphs)  # graphs that are none are found here
        return Witnesses(graphs, claims)
