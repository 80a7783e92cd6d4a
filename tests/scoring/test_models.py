"""The fast path's two models against plain PyG forward passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import load_dataset
from comrecgc.graphs import Graph, GraphBatch, edited_batch
from comrecgc.models import ARCHITECTURES, load_classifier, load_embedder
from comrecgc.scoring import NeighbourhoodScorer
from tests.graphs.strategies import random_graph
from tests.scoring.plain import assert_close, plain_embedding, plain_probability, random_classifier, random_greed

NUM_LABELS = 4


def small_graphs() -> list[Graph]:
    """Single nodes, graphs without edges, in several components, dense and sparse."""
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 6, 9, 12, 15]
    return [random_graph(rng, n, NUM_LABELS, density) for n in sizes for density in (0.0, 0.15, 0.5)]


def together(batches: list[GraphBatch]) -> GraphBatch:
    return GraphBatch.from_graphs(graph for batch in batches for graph in batch)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("hidden", [5, 20, 40])
def test_probability_equals_a_plain_forward(architecture: str, hidden: int) -> None:
    model = random_classifier(architecture, NUM_LABELS, hidden=hidden)
    scorer = NeighbourhoodScorer(model, None, NUM_LABELS, num_threads=1)
    spread = 0.0
    for scored in scorer.score(small_graphs(), embedding=False):
        expected = plain_probability(model, edited_batch(scored.graph, scored.table))
        assert_close(scored.probability, expected)
        spread = max(spread, float(np.ptp(expected)))
    assert spread > 0.1  # the numbers do differ


@pytest.mark.parametrize(("num_layers", "width"), [(8, 64), (1, 64), (3, 20), (2, 100)])
def test_embedding_equals_a_plain_forward(num_layers: int, width: int) -> None:
    model = random_greed(NUM_LABELS, num_layers=num_layers, width=width)
    scorer = NeighbourhoodScorer(None, model, NUM_LABELS, num_threads=1)
    for scored in scorer.score(small_graphs(), probability=False):
        expected = plain_embedding(model, edited_batch(scored.graph, scored.table))
        assert_close(scored.embedding, expected)
        assert scored.embedding is not None
        assert scored.embedding.shape == (len(scored), width)


@pytest.mark.parametrize("name", ["aids", "mutagenicity", "nci1", "proteins"])
def test_released_models_on_real_graphs(name: str, data_root: Path, checkpoint_root: Path) -> None:
    """Neighbours of 200 graphs, some of each neighbourhood."""
    dataset = load_dataset(name, root=data_root)
    classifier = load_classifier(checkpoint_root / name / "classifier.pth")
    embedder = load_embedder(checkpoint_root / name / "greed.pt")
    rng = np.random.default_rng(0)
    graphs = [dataset[int(i)] for i in rng.choice(len(dataset), 200, replace=False)]
    scored = NeighbourhoodScorer(classifier, embedder, dataset.num_labels).score(graphs, sample=20, rng=rng)
    batch = together([edited_batch(each.graph, each.table) for each in scored])
    assert_close(np.concatenate([each.probability for each in scored]), plain_probability(classifier, batch))
    assert_close(np.concatenate([each.embedding for each in scored]), plain_embedding(embedder, batch))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_architectures_on_real_graphs(architecture: str, data_root: Path) -> None:
    for name in ("mutagenicity", "proteins"):
        dataset = load_dataset(name, root=data_root)
        model = random_classifier(architecture, dataset.num_labels)
        rng = np.random.default_rng(1)
        graphs = [dataset[int(i)] for i in rng.choice(len(dataset), 100, replace=False)]
        scorer = NeighbourhoodScorer(model, None, dataset.num_labels)
        scored = scorer.score(graphs, embedding=False, sample=20, rng=rng)
        batch = together([edited_batch(each.graph, each.table) for each in scored])
        assert_close(np.concatenate([each.probability for each in scored]), plain_probability(model, batch))
