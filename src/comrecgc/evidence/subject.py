"""What evidence is gathered on: an explanation, fresh or from a run folder, and everything it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import ModelPair, with_label_names
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import (
    NUMBERS,
    RULES,
    Explanation,
    rule_chooser,
    stored_goal,
    stored_rejects,
    stored_task,
    stored_wishes,
)
from comrecgc.graphs import Graph
from comrecgc.models import (
    Classifier,
    Embedder,
    GraphClassifier,
    ModelFile,
    Panel,
    load_classifier,
    load_embedder,
    load_panel,
    save_classifier,
)
from comrecgc.molecules import ladder_from_facts

MOST_RESULTS = 300
"""Results of a recourse that are looked at; more would not change a share by more than some points."""


def data_of_run(folder: Path, explanation: Explanation, dataset: GraphDataset) -> GraphDataset:
    """A dataset over the labels of a run; an error where its graphs are not those of the run."""
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
    model: Classifier = load_classifier(paths["classifier"], label_names=names)
    if isinstance(numbers := explanation.facts.facts.get(NUMBERS), dict):
        model = stored_goal(numbers, model)
    return ModelPair(model, load_embedder(paths["embedder"], label_names=names) if "embedder" in paths else None)


def run_plausibility(folder: Path, explanation: Explanation) -> Plausibility:
    """The ladder of changes a run was made with, and its panel."""
    facts = explanation.facts.facts
    files = facts.get("panel", [])
    try:
        paths = [ModelFile(str(file["path"]), str(file["sha256"])).find(folder, "panel") for file in files]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: the panel must be a list of files with their checksums") from error
    names = explanation.schema.label_names
    panel = load_panel(paths, label_names=names, unanimous=facts.get("agree") is True) if paths else None
    return Plausibility(ladder=ladder_from_facts(facts.get("ladder"), names), panel=panel)


def save_panel(panel: Panel | None, folder: Path, label_names: Sequence[str]) -> list[ModelFile]:
    """Write the members of a panel to the run folder."""
    files = []
    for place, member in enumerate(panel.members if panel is not None else ()):
        if not isinstance(member.classifier, GraphClassifier):
            raise InputError(
                f"Only classifiers of this package can be kept with a run (got {member.name} in the panel)"
            )
        path = folder / f"panel-{place + 1}.safetensors"
        accuracy = {} if member.accuracy is None else {"accuracy": {"test": member.accuracy}}
        save_classifier(member.classifier, path, {"name": member.name, "label_names": list(label_names), **accuracy})
        files.append(ModelFile.of(path, folder))
    return files


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An explanation and what it was made from."""

    explanation: Explanation
    dataset: GraphDataset  # all graphs, with their true labels
    classifier: Classifier
    plausibility: Plausibility
    task: Task[Any]
    wishes: RuleFilter  # what chosen rules had to be like
    mined: MinedRules | None = None  # none for vectors
    embedder: Embedder | None = None  # none for rules
    labels: npt.NDArray[np.int8] | None = (
        None  # of every graph by its index in the explanation, if not those of the dataset
    )
    # Other results of vectors, as pairs of graphs, for inputs that an earlier one covers already; the table of rules knows its own.
    shown_again: Sequence[Sequence[tuple[Graph, Graph]]] = ()

    @classmethod
    def of(cls, explainer: CommonRecourseExplainer) -> Subject:
        """What a fitted explainer found, and all that it was made from."""
        if not hasattr(explainer, "explanation_"):
            raise InputError("Evidence needs an explanation: call fit first")
        return cls(
            explanation=explainer.explanation_,
            dataset=explainer.dataset_,
            classifier=explainer.classifier_,
            plausibility=explainer.plausibility_,
            task=explainer.task_,
            wishes=RuleFilter() if explainer.mined_ is None else explainer.task_.algorithm.wishes(),
            mined=explainer.mined_,
            embedder=explainer.embedder_,
        )

    @classmethod
    def of_run(
        cls, folder: Path, explanation: Explanation, models: ModelPair, dataset: GraphDataset | None = None
    ) -> Subject:
        """A finished run and what it was made from; where its data is not given, its inputs are all there is."""
        if explanation.facts.facts.get("ladder") is None:
            raise InputError(f"{folder} does not keep the ladder of changes it was found with")
        mined = rule_chooser(folder, explanation).mined if RULES in explanation.facts.facts else None
        if mined is not None and dataset is not None:
            # The table is of the inputs alone; groups and familiar surroundings are those of all the data.
            mined = replace(mined, rejects=replace(mined.rejects, dataset=dataset))
        return cls(
            explanation=explanation,
            dataset=stored_rejects(explanation).dataset if dataset is None else dataset,
            classifier=models.classifier,
            plausibility=run_plausibility(folder, explanation),
            task=stored_task(explanation),
            wishes=stored_wishes(explanation),
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
        """How many inputs that a recourse turns are truly labelled reject, and how many it turns."""
        recourse = self.explanation.recourses[place]
        labels = self.dataset.classes if self.labels is None else self.labels
        indices = [*(member.input for member in recourse.covered), *recourse.also_covers]
        return int((labels[indices] == 0).sum()), len(indices)

    @cached_property
    def results(self) -> list[list[tuple[Graph, Graph]]]:
        """For each recourse, inputs that it turns and what they become; at most `MOST_RESULTS`, the same for the same seed."""
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
