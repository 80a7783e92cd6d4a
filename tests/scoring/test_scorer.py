"""Tests of comrecgc.scoring.scorer.

Also tests comrecgc.scoring.incremental_kernels.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
import torch

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, GraphBatch, allowed_edits, apply_edit, edited_batch, graph_key
from comrecgc.graphs.edits import AllowKinds, KeepConnected
from comrecgc.models import as_embedder
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer
from tests.graphs.strategies import random_graph
from tests.scoring.plain import assert_close, random_classifier, random_greed

NUM_LABELS = 3


class CountingClassifier:
    """Accepts by the share of label 0; remembers how many nodes it was shown at once."""

    num_labels = NUM_LABELS

    def __init__(self) -> None:
        self.nodes: list[int] = []

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        self.nodes.append(len(batch.labels))
        return np.array([(graph.labels == 0).mean() for graph in batch])


class NothingAllowed:
    def allowed(self, graph: Graph, table: object) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        return np.zeros(len(table), dtype=bool)  # type: ignore[arg-type]


def sizes(graphs: Sequence[Graph]) -> list[list[int]]:
    return [[graph.num_nodes, graph.num_edges] for graph in graphs]


def largest_edge_label(graphs: Sequence[Graph]) -> list[list[int]]:
    return [[-1 if graph.edge_labels is None else int(graph.edge_labels.max(initial=0))] for graph in graphs]


def some_graphs() -> list[Graph]:
    rng = np.random.default_rng(5)
    return [random_graph(rng, n, NUM_LABELS, 0.25) for n in (1, 4, 9, 30)]


def make_scorer(**options: object) -> NeighbourhoodScorer:
    classifier, embedder = random_classifier("gcn", NUM_LABELS), random_greed(NUM_LABELS)
    return NeighbourhoodScorer(classifier, embedder, NUM_LABELS, **options)  # type: ignore[arg-type]


def assert_same(first: Neighbourhood, second: Neighbourhood) -> None:
    """To the last bit."""
    np.testing.assert_array_equal(first.keys, second.keys)
    for name in ("kind", "first", "second"):
        np.testing.assert_array_equal(getattr(first.table, name), getattr(second.table, name))
    for name in ("probability", "embedding"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_toy() -> None:
    graph = Graph([0, 1], [(0, 1)])
    scorer = NeighbourhoodScorer(CountingClassifier(), as_embedder(sizes), 2)
    scored = scorer.score([graph])[0]
    # relabel either node, a new node of two labels at either end, remove either node, remove the edge
    assert len(scored) == 9
    edits = [scored.table[i] for i in range(9)]
    assert {edit.kind for edit in edits} == set(EditKind) - {EditKind.ADD_EDGE}
    removal = edits.index(Edit(EditKind.REMOVE_EDGE, 0, 1))
    assert scored.probability is not None
    assert scored.embedding is not None
    assert scored.probability[removal] == 0.5
    assert scored.embedding[removal].tolist() == [2, 0]


def test_neighbours_are_distinct_and_the_first_of_each() -> None:
    for graph, scored in zip(some_graphs(), make_scorer().score(some_graphs()), strict=True):
        everything = allowed_edits(graph, NUM_LABELS)
        first: dict[int, object] = {}
        for i in range(len(everything)):
            first.setdefault(graph_key(apply_edit(graph, everything[i])), everything[i])
        assert scored.keys.tolist() == list(first)
        assert [scored.table[i] for i in range(len(scored))] == list(first.values())


def test_generic_path_equals_the_fast_one() -> None:
    fast, generic = make_scorer().score(some_graphs()), make_scorer(fast=False).score(some_graphs())
    for one, other in zip(fast, generic, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        assert other.probability is not None
        assert other.embedding is not None
        assert_close(one.probability, other.probability)
        assert_close(one.embedding, other.embedding)
        assert one.probability is not None
        assert one.probability.dtype == other.probability.dtype == np.float32


def test_one_at_a_time_many_at_once_threads_and_pieces_give_the_same_bits() -> None:
    graphs = [*some_graphs(), random_graph(np.random.default_rng(6), 45, NUM_LABELS, 0.05)]
    together = make_scorer(num_threads=1).score(graphs)
    for options in ({"num_threads": 2}, {"num_threads": 3}, {"num_threads": 1, "max_nodes": 300}):
        scorer = make_scorer(**options)
        for graph, expected, repeated in zip(graphs, together, scorer.score(graphs), strict=True):
            assert_same(scorer.score([graph])[0], expected)
            assert_same(repeated, expected)


def test_only_what_is_asked_for() -> None:
    scorer = make_scorer()
    graphs = some_graphs()
    whole = scorer.score(graphs)
    for scored, expected in zip(scorer.score(graphs, embedding=False), whole, strict=True):
        assert scored.embedding is None
        np.testing.assert_array_equal(scored.probability, expected.probability)
        assert_same(scorer.complete([scored])[0], expected)
    for scored, expected in zip(scorer.score(graphs, probability=False), whole, strict=True):
        assert scored.probability is None
        np.testing.assert_array_equal(scored.embedding, expected.embedding)
    bare = scorer.score(graphs[:1], probability=False, embedding=False)[0]
    assert bare.probability is None
    assert bare.embedding is None


def test_a_selection_can_be_completed() -> None:
    scorer = make_scorer()
    whole = scorer.score(some_graphs()[2:3])[0]
    chosen = np.array([5, 2, 11])
    selected = scorer.score([whole.graph], embedding=False)[0].select(chosen)
    assert_same(scorer.complete([selected])[0], whole.select(chosen))


def test_constraints() -> None:
    graph = some_graphs()[2]
    scored = make_scorer(constraint=AllowKinds({"relabel", "remove_edge"})).score([graph])[0]
    assert set(scored.table.kind) <= {EditKind.RELABEL, EditKind.REMOVE_EDGE}
    whole = make_scorer().score([graph])[0]
    np.testing.assert_array_equal(scored.probability, whole.select(np.isin(whole.keys, scored.keys)).probability)
    path = Graph([0, 1, 2], [(0, 1), (1, 2)])
    assert EditKind.REMOVE_EDGE not in make_scorer(constraint=KeepConnected()).score([path])[0].table.kind


@pytest.mark.parametrize("fast", [True, False])
def test_nothing_allowed_is_an_empty_neighbourhood(fast: bool) -> None:
    scored = make_scorer(constraint=NothingAllowed(), fast=fast).score(some_graphs()[:2])
    for each in scored:
        assert len(each) == 0
        assert each.probability is not None
        assert each.embedding is not None
        assert each.probability.shape == (0,)
        assert each.embedding.shape == (0, 64)
    assert make_scorer().score([]) == []


def test_sampling_draws_from_the_neighbourhood() -> None:
    graph = some_graphs()[3]
    scorer = make_scorer()
    whole = scorer.score([graph])[0]
    sampled = scorer.score([graph], sample=50, rng=np.random.default_rng(0))[0]
    again = scorer.score([graph], sample=50, rng=np.random.default_rng(0))[0]
    other = scorer.score([graph], sample=50, rng=np.random.default_rng(1))[0]
    assert_same(sampled, again)
    assert set(sampled.keys) != set(other.keys)
    assert 40 < len(sampled) <= 50
    place = {int(key): i for i, key in enumerate(whole.keys)}
    rows = [place[int(key)] for key in sampled.keys]
    assert whole.embedding is not None
    assert_close(sampled.embedding, whole.embedding[rows])
    everything = len(allowed_edits(graph, NUM_LABELS))
    assert_same(scorer.score([graph], sample=everything, rng=np.random.default_rng(0))[0], whole)


def test_any_model_is_shown_batches_of_bounded_size() -> None:
    graph = some_graphs()[3]
    classifier = CountingClassifier()
    scorer = NeighbourhoodScorer(classifier, None, NUM_LABELS, max_nodes=200)
    scored = scorer.score([graph], embedding=False)[0]
    assert max(classifier.nodes) <= 200
    assert len(classifier.nodes) > 10
    batch = edited_batch(graph, scored.table)
    np.testing.assert_allclose(scored.probability, [(each.labels == 0).mean() for each in batch], rtol=1e-6)  # type: ignore[arg-type]
    small = NeighbourhoodScorer(classifier, None, NUM_LABELS, max_nodes=1)
    assert_same(
        small.score([some_graphs()[1]], embedding=False)[0], scorer.score([some_graphs()[1]], embedding=False)[0]
    )


def test_any_model_sees_edge_labels() -> None:
    graph = Graph([0, 0, 1], [(0, 1), (1, 2)], [2, 1])
    scorer = NeighbourhoodScorer(None, as_embedder(largest_edge_label), 2, constraint=AllowKinds({"remove_edge"}))
    scored = scorer.score([graph], probability=False)[0]
    assert scored.embedding is not None
    assert scored.embedding.tolist() == [[1], [2]]


def test_a_fast_and_a_generic_model_work_side_by_side() -> None:
    graphs = some_graphs()
    embedder = random_greed(NUM_LABELS)
    scored = NeighbourhoodScorer(CountingClassifier(), embedder, NUM_LABELS).score(graphs)
    for mixed, own in zip(scored, make_scorer().score(graphs), strict=True):
        np.testing.assert_array_equal(mixed.embedding, own.embedding)
        assert mixed.probability is not None
        assert len(mixed.probability) == len(mixed)


def test_double_precision_takes_the_generic_path() -> None:
    graph = some_graphs()[1]
    model = random_classifier("gcn", NUM_LABELS)
    fast = NeighbourhoodScorer(model, None, NUM_LABELS).score([graph], embedding=False)[0]
    exact = NeighbourhoodScorer(model.double(), None, NUM_LABELS).score([graph], embedding=False)[0]
    assert exact.probability is not None
    assert_close(fast.probability, exact.probability)


def test_input_and_models_are_left_alone() -> None:
    graphs = some_graphs()
    before = [graph.permute(np.arange(graph.num_nodes)) for graph in graphs]
    classifier, embedder = random_classifier("gat", NUM_LABELS), random_greed(NUM_LABELS)
    weights = {name: tensor.clone() for name, tensor in embedder.state_dict().items()}
    NeighbourhoodScorer(classifier, embedder, NUM_LABELS).score(graphs)
    assert graphs == before
    assert all(torch.equal(tensor, weights[name]) for name, tensor in embedder.state_dict().items())


def test_a_scorer_travels_to_another_process() -> None:
    scorer = make_scorer()
    graph = some_graphs()[2]
    expected = scorer.score([graph])[0]
    assert_same(pickle.loads(pickle.dumps(scorer)).score([graph])[0], expected)  # noqa: S301


def test_bad_parameters() -> None:
    model = random_classifier("gcn", NUM_LABELS)
    with pytest.raises(InputError, match=r"^The classifier must know all 4 labels \(got one of 3\)$"):
        NeighbourhoodScorer(model, None, 4)
    with pytest.raises(InputError, match=r"^The embedder must know all 4 labels \(got one of 3\)$"):
        NeighbourhoodScorer(None, random_greed(3), 4)
    graph = some_graphs()[0]
    with pytest.raises(InputError, match=r"^num_labels must exceed every node label"):
        make_scorer().score([Graph([7], [])])
    with pytest.raises(InputError, match=r"^A model must give one row per graph"):
        NeighbourhoodScorer(None, BadEmbedder(), NUM_LABELS).score([graph], probability=False)


class BadEmbedder:
    def embed(self, batch: GraphBatch) -> npt.NDArray[np.float32]:  # noqa: ARG002
        return np.zeros((1, 2), dtype=np.float32)
