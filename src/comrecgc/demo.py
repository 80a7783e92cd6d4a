"""The demonstration: train everything on the planted molecules, then ask which single edits flip rejected ones.

It is the first step of an explanation done in full: every one-edit neighbour of every reject is scored, and the edits that
lead to acceptance are grouped by what they do. Common recourses proper group them by where they lead in the embedding.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from comrecgc.classifiers import ClassifierTraining, GraphClassifier, predict, train_classifier
from comrecgc.datasets import PlantedDataset, load_planted
from comrecgc.embedding import EmbedderTraining, Greed, normalised_distance, train_embedder
from comrecgc.graphs.batch import GraphBatch
from comrecgc.graphs.constraints import Constraint, Valence
from comrecgc.graphs.edits import Edit
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.neighbours import allowed_edits, edited_batch
from comrecgc.graphs.paths import summarise_path
from comrecgc.terminal import bars, out

THETA = 0.1


@dataclass(frozen=True)
class Flip:
    """One valid edit that turns a reject into an accepted graph within reach."""

    reject: int
    edit: Edit
    words: str


def run_demo(folder: Path, seed: int, *, effort: float = 0.06) -> None:
    """Train on the planted dataset, print what single edits do, and leave the models in the folder.

    Args:
        folder: Where the models go.
        seed: Of both trainings.
        effort: Of the embedder's training; the default keeps the whole to about a minute.
    """
    started = time.monotonic()
    dataset = load_planted()
    out.print(f"{len(dataset)} molecules, {int((dataset.classes == 0).sum())} carry a toxicophore (reject)")
    with bars() as bar:
        trained = train_classifier(
            dataset,
            ClassifierTraining(seed=seed, epochs=300, patience=60),
            out=folder / "classifier.safetensors",
            progress=lambda report: bar("classifier", report.epoch, report.epochs, f"validation {report.accuracy:.1%}"),
        )
        embedder = train_embedder(
            dataset.graphs,
            dataset.num_labels,
            EmbedderTraining(effort=effort, seed=seed, jobs=2),
            out=folder / "embedder.safetensors",
            facts={"dataset": dataset.name, "label_names": list(dataset.label_names)},
            progress=lambda what, done, total, word: bar(f"embedder: {what}", done, total, word),
        )
        rejects = predict(trained.model, dataset).rejects.tolist()
        flips = []
        for done, index in enumerate(rejects):
            flips += _flips(index, dataset, trained.model, embedder)
            bar("single edits", done + 1, len(rejects), f"{len(flips)} flip")
    out.print(f"classifier: test accuracy {trained.accuracy['test']:.1%}; it rejects {len(rejects)} molecules")
    _print_flips(dataset, rejects, flips)
    out.print(f"models are in {folder} ({time.monotonic() - started:.0f} s)", soft_wrap=True, markup=False)


def _flips(index: int, dataset: PlantedDataset, classifier: GraphClassifier, embedder: Greed) -> list[Flip]:
    """The chemically valid single edits that flip one reject within θ."""
    graph: Graph = dataset[index]
    rule: Constraint = Valence.of_elements(dataset.label_names)
    table = allowed_edits(graph, dataset.num_labels, rule)
    batch = edited_batch(graph, table)
    accepted = np.flatnonzero(classifier.accept_probability(batch) > 0.5)
    if len(accepted) == 0:
        return []
    origin = embedder.embed(GraphBatch.from_graphs([graph]))
    reached = embedder.embed(batch.select(accepted))
    sizes = 2 * graph.size + table.size_changes()[accepted]
    near = accepted[normalised_distance(np.repeat(origin, len(reached), axis=0), reached, sizes) <= THETA]
    return [Flip(index, table[int(i)], summarise_path(graph, [table[int(i)]], dataset.label_names)) for i in near]


def _print_flips(dataset: PlantedDataset, rejects: list[int], flips: list[Flip]) -> None:
    """The kinds of edit that flip most rejects, each counted once a reject, and how many touch the planted group."""
    by_words: dict[str, set[int]] = defaultdict(set)
    for flip in flips:
        by_words[flip.words].add(flip.reject)
    table = Table("single edit", "flips", "of rejects", "touches the toxicophore")
    for words, flipped in sorted(by_words.items(), key=lambda item: (-len(item[1]), item[0]))[:8]:
        of_words = [flip for flip in flips if flip.words == words]
        touching = sum(_touches(dataset, flip) for flip in of_words)
        table.add_row(words, str(len(flipped)), f"{len(flipped) / len(rejects):.0%}", f"{touching / len(of_words):.0%}")
    out.print(table)
    flipped = {flip.reject for flip in flips}
    out.print(
        f"{len(flipped)} of {len(rejects)} rejects have a valid single edit within distance {THETA} that flips them"
    )


def _touches(dataset: PlantedDataset, flip: Flip) -> bool:
    """Whether the edit changes a node or bond of a planted toxicophore."""
    touched = {flip.edit.first, flip.edit.second if flip.edit.kind.joins_nodes else flip.edit.first}
    return any(touched & set(group.nodes) for group in dataset.toxicophores[flip.reject])
