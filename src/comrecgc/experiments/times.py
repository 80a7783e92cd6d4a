"""Table 8: how long COMRECGC takes, by stage, beside the minutes the paper printed (on one L4 GPU)."""

from __future__ import annotations

from comrecgc.experiments.laboratory import Laboratory
from comrecgc.experiments.methods import Method, moving_walk, published, rules, vectors
from comrecgc.experiments.paper import DATASETS, MINUTES
from comrecgc.experiments.tables import OURS, PAPERS, Entry, Row, Table

_CLUSTERS = ("selection", "verification", "words")


def times_table(laboratory: Laboratory) -> Table:
    """Minutes of the walk, of the clusters, and of all; our own methods beside them."""
    rows = [
        _row(laboratory, "COMRECGC: walk (Algorithm 5)", PAPERS, published(5), ("search",), MINUTES["walk"]),
        _row(laboratory, "COMRECGC: clusters (Algorithm 1)", PAPERS, published(5), _CLUSTERS, MINUTES["clusters"]),
        _row(laboratory, "COMRECGC", PAPERS, published(5), None, MINUTES["all"]),
        _row(laboratory, "COMRECGC, heads that advance", PAPERS, moving_walk(), None),
        _row(laboratory, "our vectors", OURS, vectors(), None),
        _row(laboratory, "rules, plausible changes", OURS, rules("plausible"), None),
    ]
    return Table(
        name="times", number="Table 8", title="Minutes", columns=DATASETS, rows=tuple(rows), digits=2,
        notes=("The paper's minutes are those of an L4 GPU; ours of this machine's cores.", *laboratory.notes()),
    )  # fmt: skip


def _row(
    laboratory: Laboratory,
    name: str,
    kind: str,
    method: Method,
    stages: tuple[str, ...] | None,
    printed: tuple[int, ...] | None = None,
) -> Row:
    entries = []
    for place, dataset in enumerate(DATASETS):
        seconds = [
            result["seconds"] if stages is None else sum(result["stages"].get(stage, 0.0) for stage in stages)
            for result in laboratory.results(method, dataset)
        ]
        paper = None if printed is None else float(printed[place])
        entries.append(Entry(values=tuple(value / 60 for value in seconds), printed=paper))
    return Row(name=name, kind=kind, entries=tuple(entries))
