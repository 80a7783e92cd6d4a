"""Our figures under the names that papers on counterfactual and graph explanations use; `docs/measures.md` says whose names they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from comrecgc.evidence.records import Figures, RecourseEvidence
from comrecgc.evidence.subject import Subject
from comrecgc.graphs import GraphBatch


def reviewers_figures(
    subject: Subject, figures: Figures, plausible: Figures, recourses: Sequence[RecourseEvidence]
) -> Mapping[str, float | int | None]:
    """The figures by those names, means over the counterfactuals shown unless said otherwise.

    Args:
        subject: The explanation and what it was made from.
        figures: Figures of the whole.
        plausible: How much counterfactuals look like the data.
        recourses: Evidence on each recourse.
    """
    explanation = subject.explanation
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    if not members:
        return {}
    sizes = np.array([explanation.inputs[member.input].graph.size for member in members])
    edits = np.array([member.num_edits for member in members])
    labels = subject.dataset.classes[[member.input for member in members]] if _indexed(subject) else None
    accepted = _accepted(subject)
    shares = [
        answer.share_turned for it in recourses for answer in it.answers if not answer.chosen_with and answer.share_turned is not None
    ]  # fmt: skip
    successes = [it.success for it in recourses if it.success is not None]
    return {
        "validity": float(accepted.mean()),
        "coverage": explanation.coverage,
        "proximity": float(np.mean([member.distance for member in members])),
        "edit_distance": float(edits.mean()),
        "sparsity": float(np.mean(1 - np.minimum(edits / sizes, 1.0))),
        "plausibility": plausible.get("share_plausible"),
        "typicality": plausible.get("share_typical"),
        "robustness": float(np.mean(shares)) if shares else None,
        "stability": figures.get("held_out_coverage_random"),
        "sufficiency": float(np.mean(successes)) if successes else None,
        "necessity": plausible.get("share_minimal"),
        "fidelity": None if labels is None else float(np.mean(np.where(labels == 0, 1.0, -1.0))),
        "diversity": plausible.get("diversity"),
        "runtime_seconds": sum(explanation.facts.seconds.values()) or None,
        "oracle_calls": explanation.metrics.get("oracle_calls"),
    }


def _indexed(subject: Subject) -> bool:
    return all(index < len(subject.dataset) for index in subject.explanation.inputs)


def _accepted(subject: Subject) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    graphs = [member.counterfactual for recourse in subject.explanation.recourses for member in recourse.covered]
    parts = [graphs[start : start + 4096] for start in range(0, len(graphs), 4096)]
    masks = [subject.classifier.accept_probability(GraphBatch.from_graphs(part)) > 0.5 for part in parts]
    return np.concatenate(masks)
