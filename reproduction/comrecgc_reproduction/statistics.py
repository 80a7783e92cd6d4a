"""Tables 1 and 2 of the paper and three of its appendix: the datasets, and how well the classifiers do."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.models import predict, split_dataset
from comrecgc_reproduction.cells import Cell
from comrecgc_reproduction.grounds import Ground
from comrecgc_reproduction.laboratory import KEPT, Laboratory, versions
from comrecgc_reproduction.paper import ACCURACY, DATASETS, STATISTICS
from comrecgc_reproduction.tables import Entry, Row, Table


def datasets_table(laboratory: Laboratory) -> Table:
    """Table 1: graphs, nodes, edges and labels of the datasets, after those with rare labels are gone."""

    def count(ground: Ground) -> dict[str, Any]:
        data = ground.whole
        return {"graphs": len(data), "nodes": data.num_nodes, "edges": data.num_edges, "node labels": data.num_labels}

    found = []
    for name in DATASETS:
        ground = laboratory.ground(name)
        found.append(laboratory.cells.value(f"statistics {name}", lambda ground=ground: count(ground)))  # type: ignore[misc]
    rows = tuple(
        Row(
            name=what,
            entries=tuple(
                Entry.of([cell], itemgetter(what), float(paper)) for cell, paper in zip(found, printed, strict=True)
            ),
        )
        for what, printed in STATISTICS.items()
    )
    return Table(
        name="datasets", number="Table 1", title="Datasets", columns=DATASETS, rows=rows, digits=0, notes=(versions(),)
    )


def accuracy_table(laboratory: Laboratory) -> Table:
    """Table 2 and its like for other networks: accuracy on training, validation and test graphs of classifiers trained here.

    The split of the released classifiers is not known; theirs is measured on all graphs and stands in a row of its own.
    """
    rows = []
    for model, parts in ACCURACY.items():
        cells = [_trained(laboratory, name, model) for name in DATASETS]
        for part, printed in parts.items():
            entries = tuple(
                Entry.of([cell], itemgetter(part), paper) for cell, paper in zip(cells, printed, strict=True)
            )
            rows.append(Row(name=f"{model}, {part}", entries=entries))
    if any(laboratory.ground(name).released_classifier for name in DATASETS):
        entries = tuple(_released(laboratory, name) for name in DATASETS)
        rows.append(Row(name="gcn as released, all graphs (its split is not known)", entries=entries))
    return Table(
        name="accuracy", number="Tables 2 and 10 to 12", title="Accuracy of the classifiers",
        columns=DATASETS, rows=tuple(rows), digits=3,
        notes=("All classifiers but those as released are trained here.", laboratory.scale.sentence, versions(), KEPT),
    )  # fmt: skip


def _trained(laboratory: Laboratory, name: str, model: str) -> Cell | None:
    ground = laboratory.ground(name, model, trained=True)

    def measure() -> dict[str, Any]:
        right = _right(ground)
        split = split_dataset(ground.whole, np.random.default_rng(0))
        parts = {"train": split.train, "validation": split.validation, "test": split.test}
        return {part: float(right[where].mean()) for part, where in parts.items()}

    return laboratory.cells.value(f"accuracy {name} {model} {laboratory.scale}", measure)


def _released(laboratory: Laboratory, name: str) -> Entry:
    ground = laboratory.ground(name)
    if ground.released_classifier is None:
        return Entry()
    cell = laboratory.cells.value(f"accuracy {name} gcn released", lambda: {"all": float(_right(ground).mean())})
    return Entry.of([cell], itemgetter("all"))


def _right(ground: Ground) -> npt.NDArray[np.bool_]:
    """Whether the classifier is right about each graph, `[n]`."""
    right: npt.NDArray[np.bool_] = predict(ground.classifier, ground.whole).accepted == ground.whole.classes
    return right
