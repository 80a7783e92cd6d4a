"""Scores of edited graphs by any model: the graphs are built as flat batches, of bounded size, and shown to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import EditTable, Graph, GraphBatch, edited_batch
from comrecgc.neighbourhood.neighbourhood import FloatArray


def score_batches(
    model: Callable[[GraphBatch], npt.NDArray[Any]], graph: Graph, table: EditTable, max_nodes: int
) -> FloatArray:
    """What the model says of the graph after each edit of the table, `[N, …]`.

    Args:
        model: Gives one row or number per graph of a batch.
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
        max_nodes: Nodes in one batch; a single larger graph still passes alone.
    """
    if len(table) == 0:  # the graph itself tells the shape of a row
        return _rows(model, GraphBatch.from_graphs([graph]))[:0]
    size = max(1, max_nodes // (graph.num_nodes + 1))
    batches = (edited_batch(graph, part, with_edge_labels=True) for part in parts(table, size))
    return np.concatenate([_rows(model, batch) for batch in batches])


def parts(table: EditTable, size: int) -> Iterator[EditTable]:
    """Consecutive runs of at most `size` edits."""
    for start in range(0, len(table), size):
        yield table.select(np.arange(start, min(start + size, len(table))))


def _rows(model: Callable[[GraphBatch], npt.NDArray[Any]], batch: GraphBatch) -> FloatArray:
    rows = np.asarray(model(batch), dtype=np.float32)
    if len(rows) != len(batch):
        raise InputError(f"A model must give one row per graph (got shape {rows.shape} for {len(batch)} graphs)")
    return rows
