"""Tables 1, 2, 8 and 10 to 12: the datasets, the accuracy of the classifiers, and running times."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.models import predict, split_dataset
from comrecgc_reproduction.methods import Method, moving_walk, published, rules, vectors
from comrecgc_reproduction.paper import ACCURACY, DATASETS, MINUTES, STATISTICS
from comrecgc_reproduction.results import CachedResult
from comrecgc_reproduction.runner import KEPT, Runner, versions
from comrecgc_reproduction.setups import Setup
from comrecgc_reproduction.tables import OURS, PAPERS, Entry, Row, Table


def datasets_table(runner: Runner) -> Table:
    """Table 1: graphs, nodes, edges and labels of the datasets, after those with rare labels are gone."""

    def count(setup: Setup) -> dict[str, Any]:
        data = setup.whole
        return {"graphs": len(data), "nodes": data.num_nodes, "edges": data.num_edges, "node labels": data.num_labels}

    found = []
    for name in DATASETS:
        setup = runner.setup(name)
        found.append(runner.cells.value(f"statistics {name}", lambda setup=setup: count(setup)))  # type: ignore[misc]
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


def accuracy_table(runner: Runner) -> Table:
    """Table 2 and its like for other networks: accuracy on training, validation and test graphs of classifiers trained here.

    The split of the released classifiers is not known; theirs is measured on all graphs and stands in a row of its own.
    """
    rows = []
    for model, parts in ACCURACY.items():
        cells = [_trained(runner, name, model) for name in DATASETS]
        for part, printed in parts.items():
            entries = tuple(
                Entry.of([cell], itemgetter(part), paper) for cell, paper in zip(cells, printed, strict=True)
            )
            rows.append(Row(name=f"{model}, {part}", entries=entries))
    if any(runner.setup(name).released_classifier for name in DATASETS):
        entries = tuple(_released(runner, name) for name in DATASETS)
        rows.append(Row(name="gcn as released, all graphs (its split is not known)", entries=entries))
    return Table(
        name="accuracy", number="Tables 2 and 10 to 12", title="Accuracy of the classifiers",
        columns=DATASETS, rows=tuple(rows), digits=3,
        notes=("All classifiers but those as released are trained here.", runner.scale.sentence, versions(), KEPT),
    )  # fmt: skip


def _trained(runner: Runner, name: str, model: str) -> CachedResult | None:
    setup = runner.setup(name, model, trained=True)

    def measure() -> dict[str, Any]:
        right = _right(setup)
        split = split_dataset(setup.whole, np.random.default_rng(0))
        parts = {"train": split.train, "validation": split.validation, "test": split.test}
        return {part: float(right[where].mean()) for part, where in parts.items()}

    return runner.cells.value(f"accuracy {name} {model} {runner.scale}", measure)


def _released(runner: Runner, name: str) -> Entry:
    setup = runner.setup(name)
    if setup.released_classifier is None:
        return Entry()
    cell = runner.cells.value(f"accuracy {name} gcn released", lambda: {"all": float(_right(setup).mean())})
    return Entry.of([cell], itemgetter("all"))


def _right(setup: Setup) -> npt.NDArray[np.bool_]:
    """Whether the classifier is right about each graph, `[n]`."""
    right: npt.NDArray[np.bool_] = predict(setup.classifier, setup.whole).accepted == setup.whole.classes
    return right


_CLUSTERS = ("selection", "verification", "words")


def times_table(runner: Runner) -> Table:
    """Processor minutes of the walk, of the clusters, and of all; our own methods beside them."""
    lines: tuple[tuple[str, str, Method, tuple[str, ...] | None, str], ...] = (
        ("COMRECGC: walk (Algorithm 5)", PAPERS, published(5), ("search",), "walk"),
        ("COMRECGC: clusters (Algorithm 1)", PAPERS, published(5), _CLUSTERS, "clusters"),
        ("COMRECGC", PAPERS, published(5), None, "all"),
        ("COMRECGC, heads that advance", PAPERS, moving_walk(), None, ""),
        ("our vectors", OURS, vectors(), None, ""),
        ("rules, any change", OURS, rules("any"), None, ""),
        ("rules, plausible changes", OURS, rules("plausible"), None, ""),
    )
    rows = []
    for name, kind, method, stages, printed in lines:
        if printed:  # a row of its own: another machine's minutes are nothing to be subtracted from
            rows.append(Row(name=name, entries=tuple(Entry(printed=float(value)) for value in MINUTES[printed])))
        rows.append(
            Row(name=name, kind=kind, entries=tuple(_minutes(runner, method, stages, data) for data in DATASETS))
        )
    return Table(
        name="times", number="Table 8", title="Processor minutes", columns=DATASETS, rows=tuple(rows), digits=2,
        notes=("Ours are of one core and of seed 0. A walk keeps the scores of edits, and other walks of the process use them.", *runner.notes()),
    )  # fmt: skip


def _minutes(runner: Runner, method: Method, stages: tuple[str, ...] | None, dataset: str) -> Entry:
    """Processor minutes of some stages, by their part of the time that passed, or of all."""

    def minutes(cell: CachedResult) -> float:
        passed = float(cell["seconds"])
        part = passed if stages is None else sum(cell["stages"].get(stage, 0.0) for stage in stages)
        return float(cell["cpu_seconds"]) * part / max(passed, 1e-9) / 60

    return Entry.of(runner.results(method, dataset)[:1], minutes)  # later seeds find scores of the first one's walk
