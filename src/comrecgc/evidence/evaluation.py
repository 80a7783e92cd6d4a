"""Every figure of a run recomputed from its stored graphs and its models, by plain forward passes.

Most claims show their graph in `explanation.json`. Those that do not, `also_covers` and trivial coverage, have a witness in
`witnesses.npz`: the counterfactual that proves the claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import VectorTask
from comrecgc.algorithms.inputs import ModelPair, Rejects, Scores
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.cover import Cover, recourse_vectors
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.evidence.subject import Subject, data_of_run, run_models, run_plausibility
from comrecgc.explanation import Explanation, Verified, distances, run_figures, stored_task
from comrecgc.graphs import BoolArray, GraphBatch
from comrecgc.models import checksum
from comrecgc.run import load_arrays, refusing_damage, reproducible, save_arrays

TOLERANCE = 1e-5
"""Of probabilities and distances: what another batch or machine may round differently."""

WITNESSES = "witnesses.npz"
"""File of all confirmed pairs of a run by vectors."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run.

    Args:
        name: What it is.
        stored: What the run says; None where it says nothing.
        recomputed: What its graphs and models say; None where it is not recomputed.
        why: Why it is not, in a few words.
    """

    name: str
    stored: float | None
    recomputed: float | None
    why: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the two are the same up to rounding; what is not said or not recomputed is not held against the run."""
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
            return recheck_rules(Subject.of_run(folder, explanation, models), dataset)
        plausibility = run_plausibility(folder, explanation) if "ladder" in explanation.facts.facts else None
        return recheck(explanation, models, run_witnesses(folder, explanation), plausibility)


def run_witnesses(folder: Path, explanation: Explanation) -> Witnesses | None:
    """The witnesses of a run; None if it keeps none."""
    stated = explanation.facts.facts.get(WITNESSES)
    if stated is None:
        return None
    if checksum(folder / WITNESSES) != stated:
        raise InputError(f"{folder / WITNESSES} is damaged: its SHA-256 must be the one in the manifest")
    return load_witnesses(folder / WITNESSES)


def recheck(
    explanation: Explanation,
    models: ModelPair,
    witnesses: Witnesses | None = None,
    plausibility: Plausibility | None = None,
) -> list[Figure]:
    """The figures of an explanation by vectors, as stated and as its own graphs and the models say.

    Without witnesses, `also_covers` is taken as stated, and trivial coverage is not told; without plausibility, nor are the shares on each rung.
    """
    inputs = models.scores(it.graph for it in explanation.inputs.values()) if explanation.inputs else None
    if inputs is None:
        return [Figure(name, value or 0, value) for name, value in explanation.metrics.items()]
    task = stored_task(explanation)
    assert isinstance(task, VectorTask)
    shown, figures = _shown_claims(explanation, models, inputs, task)
    covers, trivial = _all_claims(explanation, models, inputs, shown, witnesses, task)
    cover = Cover(_centres(explanation), np.where(covers, 0, -1))
    recomputed: dict[str, float | None] = dict(run_figures(cover, task.delta, 0.0))
    recomputed["trivial_coverage"] = trivial
    if plausibility is not None:
        members = [member for recourse in explanation.recourses for member in recourse.covered]
        verdicts = plausibility.judge(
            [explanation.inputs[member.input].graph for member in members],
            [member.counterfactual for member in members],
        )
        recomputed |= verdicts.shares() | verdicts.coverage(len(explanation.inputs))
    figures += [Figure("rejected inputs", len(explanation.inputs), int((inputs.probability <= 0.5).sum()))]
    figures += [
        Figure(name, float(value), recomputed.get(name))
        for name, value in explanation.metrics.items()
        if value is not None
    ]
    return figures


def _centres(explanation: Explanation) -> npt.NDArray[np.float32]:
    vectors = [recourse.vector for recourse in explanation.recourses if recourse.vector is not None]
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), len(vectors[0]) if vectors else 1)


def _shown_claims(
    explanation: Explanation, models: ModelPair, inputs: Scores, task: VectorTask
) -> tuple[BoolArray, list[Figure]]:
    """Which of the counterfactuals shown hold, as `[R, num_inputs]`, and how far off what is said of them is."""
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
    """Which recourse covers which input, `[R, num_inputs]`, and the trivial coverage."""
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
    lengths, gaps = np.linalg.norm(vectors, axis=1), distances(vectors.astype(np.float32), centres)
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
