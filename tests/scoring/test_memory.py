from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from comrecgc.graphs import EditTable, Graph, allowed_edits
from comrecgc.scoring import EditMemory, Neighbourhood, NeighbourhoodScorer
from tests.graphs.strategies import random_graph
from tests.scoring.plain import random_classifier, random_greed

NUM_LABELS = 3
GRAPHS = [random_graph(np.random.default_rng(seed), 8, NUM_LABELS, 0.3) for seed in range(4)]


class Counting(NeighbourhoodScorer):
    """Remembers how many edits it was asked for."""

    asked = 0

    def complete(
        self, neighbourhoods: Sequence[Neighbourhood], *, probability: bool = True, embedding: bool = True
    ) -> list[Neighbourhood]:
        self.asked += sum(len(hood) for hood in neighbourhoods)
        return super().complete(neighbourhoods, probability=probability, embedding=embedding)


def counting(*, fast: bool = True, seed: int = 0) -> Counting:
    return Counting(random_classifier("gcn", NUM_LABELS), random_greed(NUM_LABELS, seed=seed), NUM_LABELS, fast=fast)


def edits(graph: Graph) -> EditTable:
    return allowed_edits(graph, NUM_LABELS, None)


@pytest.mark.parametrize("max_bytes", [0, 30_000, 1 << 30])
def test_scores_are_those_of_the_whole_neighbourhood_to_the_last_bit(max_bytes: int) -> None:
    scorer, memory, rng = counting(), EditMemory(max_bytes), np.random.default_rng(0)
    for _ in range(30):
        graph = GRAPHS[int(rng.integers(len(GRAPHS)))]
        table = edits(graph)
        numbers = np.sort(rng.choice(len(table), 10, replace=False))
        whole = Neighbourhood(graph=graph, table=table, keys=np.arange(len(table), dtype=np.uint64))
        (plain,) = scorer.complete([whole])
        assert plain.probability is not None
        assert plain.embedding is not None
        assert np.array_equal(memory.scores(scorer, "probability", graph, table, numbers), plain.probability[numbers])
        assert np.array_equal(memory.scores(scorer, "embedding", graph, table, numbers), plain.embedding[numbers])


def test_an_edit_is_asked_for_once() -> None:
    scorer, memory, graph = counting(), EditMemory(), GRAPHS[0]
    table = edits(graph)
    for numbers in (np.arange(0, 20), np.arange(10, 30), np.arange(0, 30)):
        memory.scores(scorer, "embedding", graph, table, numbers)
    assert scorer.asked == 30


def test_parts_that_depend_on_what_is_scored_with_them_are_not_kept() -> None:
    scorer, memory, graph = counting(fast=False), EditMemory(), GRAPHS[0]
    table = edits(graph)
    for numbers in (np.arange(10), np.arange(10), np.arange(len(table)), np.arange(len(table))):
        memory.scores(scorer, "embedding", graph, table, numbers)
    assert scorer.asked == 20 + len(table)


def test_models_are_told_apart() -> None:
    memory, graph, numbers = EditMemory(), GRAPHS[0], np.arange(5)
    first, second = counting(), counting(seed=1)
    rows = [memory.scores(scorer, "embedding", graph, edits(graph), numbers) for scorer in (first, second)]
    assert (first.asked, second.asked) == (5, 5)
    assert not np.allclose(rows[0], rows[1])


def test_what_is_held_is_bounded() -> None:
    scorer, table = counting(), edits(GRAPHS[0])
    row = scorer.complete(scorer.score([GRAPHS[0]]))[0].embedding
    assert row is not None
    memory = EditMemory(max_bytes=40 * len(table) * row[0].nbytes)  # some forty graphs
    rng = np.random.default_rng(1)
    for _ in range(60):
        graph = random_graph(rng, 8, NUM_LABELS, 0.3)
        memory.scores(scorer, "embedding", graph, edits(graph), np.arange(4))
        assert memory.held_bytes <= memory.max_bytes
    assert memory.held_bytes > 0
