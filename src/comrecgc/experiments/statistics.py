"""Tables 1 and 2 of the paper and three of its appendix: the datasets, and how well the classifiers do."""

from __future__ import annotations

from typing import Any

import numpy as np

from comrecgc.classifiers import predict, split_dataset
from comrecgc.experiments.grounds import Ground
from comrecgc.experiments.laboratory import Laboratory
from comrecgc.experiments.paper import ACCURACY, DATASETS, STATISTICS
from comrecgc.experiments.tables import Entry, Row, Table


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
                Entry(values=(float(cell[what]),), printed=float(paper))
                for cell, paper in zip(found, printed, strict=True)
            ),
        )
        for what, printed in STATISTICS.items()
    )
    return Table(name="datasets", number="Table 1", title="Datasets", columns=DATASETS, rows=rows, digits=0)


def accuracy_table(laboratory: Laboratory) -> Table:
    """Table 2 and its like for other networks: accuracy on training, validation and test graphs.

    The split of the released classifiers is not known; theirs is measured on all graphs and stands in a row of its own.
    """
    rows = []
    for model, parts in ACCURACY.items():
        cells = [_accuracy(laboratory, name, model) for name in DATASETS]
        for part, printed in parts.items():
            entries = tuple(
                Entry(values=(cell[part],) if cell.get(part) is not None else (), printed=paper)
                for cell, paper in zip(cells, printed, strict=True)
            )
            rows.append(Row(name=f"{model}, {part}", entries=entries))
        if any(cell["released"] for cell in cells):
            entries = tuple(Entry(values=(cell["all"],)) for cell in cells)
            rows.append(
                Row(name=f"{model}, all graphs (the released model was split in a way nobody knows)", entries=entries)
            )
    return Table(
        name="accuracy", number="Table 2 and appendix", title="Accuracy of the classifiers",
        columns=DATASETS, rows=tuple(rows), digits=3, notes=laboratory.notes(),
    )  # fmt: skip


def _accuracy(laboratory: Laboratory, name: str, model: str) -> dict[str, Any]:
    ground = laboratory.ground(name, model)

    def measure() -> dict[str, Any]:
        data = ground.whole
        right = predict(ground.classifier, data).accepted == data.classes
        released = ground.released_classifier is not None
        shares: dict[str, Any] = {"released": released, "all": float(right.mean())}
        if not released:
            split = split_dataset(data, np.random.default_rng(0))
            parts = {"train": split.train, "validation": split.validation, "test": split.test}
            shares |= {part: float(right[where].mean()) for part, where in parts.items()}
        return shares

    return laboratory.cells.value(f"accuracy {name} {model} {laboratory.scale}", measure)
