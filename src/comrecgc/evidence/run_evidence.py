"""Evidence on a finished run: everything it was made from is read back, evidence is gathered and kept beside it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from comrecgc.algorithms.inputs import ModelPair, with_label_names
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.evidence.evaluation import WITNESSES, load_witnesses, run_judges
from comrecgc.evidence.gathering import SECOND_PANEL, gather
from comrecgc.evidence.records import EVIDENCE, Evidence
from comrecgc.evidence.subject import Subject
from comrecgc.explanation import RULES, Explanation, rule_chooser, stored_task, stored_wishes
from comrecgc.graphs import Graph
from comrecgc.models import PanelTraining
from comrecgc.run import RunContext, reproducible


def run_evidence(
    folder: str | Path,
    dataset: GraphDataset,
    models: ModelPair,
    context: RunContext,
    *,
    with_controls: bool = True,
    second_panel: PanelTraining | None = None,
    cache: Path | None = None,
) -> Evidence:
    """Gather the evidence on a run and keep it in its folder.

    Args:
        folder: The run folder.
        dataset: The data that the run explained.
        models: The classifier that was explained, and the embedder.
        context: Cores, cluster and progress.
        with_controls: Whether classifiers that know nothing are explained too.
        second_panel: How models that took no part in the choice are trained.
        cache: Where trained models are kept; None for the user's cache.
    """
    folder = Path(folder)
    explanation = Explanation.load(folder)
    dataset = with_label_names(dataset, explanation.label_names)
    _check_same_data(folder, explanation, dataset)
    if explanation.facts.facts.get("ladder") is None:
        raise InputError(f"{folder} does not keep the ladder of changes it was found with")
    mined, task = None, stored_task(explanation)
    if RULES in explanation.facts.facts:
        chooser = rule_chooser(folder, explanation)
        # The table is of the inputs alone; groups and familiar surroundings are those of all the data.
        mined = replace(chooser.mined, rejects=replace(chooser.mined.rejects, dataset=dataset))
    with reproducible():
        subject = Subject(
            explanation=explanation,
            dataset=dataset,
            classifier=models.classifier,
            judges=run_judges(folder, explanation),
            settings=task,
            wishes=stored_wishes(explanation),
            mined=mined,
            embedder=models.embedder,
            shown_again=_witnessed(folder, explanation),
        )
        evidence = gather(
            subject,
            with_controls=with_controls,
            folder=cache,
            engine=context.engine,
            progress=context.report,
            second_panel=SECOND_PANEL if second_panel is None else second_panel,
        )
    evidence = replace(evidence, explanation=_checksum(folder))
    evidence.save(folder)
    return evidence


def load_evidence(folder: str | Path) -> Evidence | None:
    """The evidence in a run folder; None if there is none for the explanation it holds now."""
    path = Path(folder) / EVIDENCE
    if not path.exists():
        return None
    evidence = Evidence.load(path)
    return evidence if evidence.explanation == _checksum(Path(folder)) else None


def _checksum(folder: Path) -> str:
    return hashlib.sha256((folder / "explanation.json").read_bytes()).hexdigest()


def _check_same_data(folder: Path, explanation: Explanation, dataset: GraphDataset) -> None:
    """Refuse graphs that are not those of the run."""
    for index, it in explanation.inputs.items():
        known = index < len(dataset) and _same(it.graph, dataset.graphs[index])
        if not known:
            raise InputError(f"--dataset must be the data that {folder} explains (graph {index} differs)")


def _same(graph: Graph, other: Graph) -> bool:
    arrays = [(graph.labels, other.labels), (graph.edges, other.edges)]
    return all(first.shape == second.shape and bool((first == second).all()) for first, second in arrays)


def _witnessed(folder: Path, explanation: Explanation) -> list[list[tuple[Graph, Graph]]]:
    """Results of vectors for inputs that an earlier one covers already."""
    if explanation.recourse != "vectors" or explanation.facts.facts.get(WITNESSES) is None:
        return []
    witnesses = load_witnesses(folder / WITNESSES)
    found: list[list[tuple[Graph, Graph]]] = [[] for _ in explanation.recourses]
    also = {(place, index) for place, it in enumerate(explanation.recourses) for index in it.also_covers}
    for place, index, graph in witnesses.claims.tolist():
        if (place, index) in also and graph < len(witnesses.graphs):
            found[place].append((explanation.inputs[index].graph, witnesses.graphs[graph]))
    return found
