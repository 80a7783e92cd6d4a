"""Table 8: how long COMRECGC takes, by stage, beside the minutes the paper printed (on one L4 GPU)."""

from __future__ import annotations

from comrecgc_reproduction.cells import Cell
from comrecgc_reproduction.laboratory import Laboratory
from comrecgc_reproduction.methods import Method, moving_walk, published, rules, vectors
from comrecgc_reproduction.paper import DATASETS, MINUTES
from comrecgc_reproduction.tables import OURS, PAPERS, Entry, Row, Table

_CLUSTERS = ("selection", "verification", "words")


def times_table(laboratory: Laboratory) -> Table:
    """Minutes of the walk, of the clusters, and of all; our own methods beside them."""
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
            Row(name=name, kind=kind, entries=tuple(_minutes(laboratory, method, stages, data) for data in DATASETS))
        )
    return Table(
        name="times", number="Table 8", title="Minutes", columns=DATASETS, rows=tuple(rows), digits=2,
        notes=("The paper's minutes are those of an L4 GPU; ours of this machine's cores.", *laboratory.notes()),
    )  # fmt: skip


def _minutes(laboratory: Laboratory, method: Method, stages: tuple[str, ...] | None, dataset: str) -> Entry:
    """Minutes of some stages, or of all."""

    def minutes(cell: Cell) -> float:
        seconds = cell["seconds"] if stages is None else sum(cell["stages"].get(stage, 0.0) for stage in stages)
        return float(seconds) / 60

    return Entry.of(laboratory.results(method, dataset), minutes)
