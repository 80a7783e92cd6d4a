from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.data import load_planted
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch
from comrecgc.models import EmbedderTraining, Greed, load_embedder, train_embedder
from comrecgc.models.greed import held_out_errors, split_graphs
from comrecgc.models.greed_pairs import PairGenerator

TINY = EmbedderTraining(effort=0.002, num_layers=2, width=16, head_widths=(16,))
GRAPHS = load_planted().graphs[:40]
NUM_LABELS = load_planted().num_labels


def weights(model: Greed) -> dict[str, list[float]]:
    return {name: tensor.ravel().tolist() for name, tensor in model.state_dict().items()}


@pytest.fixture(scope="module")
def trained() -> Greed:
    return train_embedder(GRAPHS, NUM_LABELS, TINY)


def test_split_keeps_some_of_both() -> None:
    for number in (10, 11, 1000):
        train, test = split_graphs(number, 0.2, 0)
        assert sorted([*train, *test]) == list(range(number))
        assert len(test) >= 2
        assert len(train) >= 2


def test_training_lowers_the_held_out_error() -> None:
    training = EmbedderTraining(effort=0.02, num_layers=2, width=16, head_widths=(16,), seed=1)
    trained = train_embedder(GRAPHS, NUM_LABELS, training)
    _, test = split_graphs(len(GRAPHS), training.held_out, training.seed)
    groups = PairGenerator(num_far=4, num_near=4, num_chains=4, num_paths=0).generate(
        [GRAPHS[i] for i in test], NUM_LABELS, seed=5
    )
    torch.manual_seed(1)
    before = held_out_errors(Greed(NUM_LABELS, num_layers=2, width=16, output_width=16), groups)
    after = held_out_errors(trained, groups)
    assert after["far"]["rmse"] < 0.6 * before["far"]["rmse"]
    assert trained.facts["held_out"].keys() == {"far", "near", "chain"}


def test_same_seed_same_weights(trained: Greed, tmp_path: Path) -> None:
    assert weights(train_embedder(GRAPHS, NUM_LABELS, TINY, out=tmp_path / "a.safetensors")) == weights(trained)
    assert weights(load_embedder(tmp_path / "a.safetensors")) == weights(trained)


def test_bad_settings() -> None:
    with pytest.raises(InputError, match="effort must be positive"):
        EmbedderTraining(effort=0)
    with pytest.raises(InputError, match="held_out must lie"):
        EmbedderTraining(held_out=1.0)
    with pytest.raises(InputError, match="at least 10 graphs"):
        train_embedder(GRAPHS[:5], NUM_LABELS, TINY)


def test_input_graphs_are_untouched(trained: Greed) -> None:
    fresh = load_planted().graphs[:40]
    assert list(GRAPHS) == list(fresh)
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(GRAPHS, fresh, strict=True))
    assert not trained.training


@pytest.mark.parametrize("seconds", [0.0, 4.0])
def test_a_deadline_is_kept_with_a_usable_embedder(seconds: float) -> None:
    train_embedder(GRAPHS, NUM_LABELS, TINY)  # whatever has to be compiled is
    started = time.process_time()  # of this process alone: a busy machine is not the training's fault
    model = train_embedder(GRAPHS, NUM_LABELS, EmbedderTraining(), deadline=time.monotonic() + seconds)
    assert time.process_time() - started < 1.1 * seconds + 4.0
    assert model.facts["cut_short"]
    embeddings = model.embed(GraphBatch.from_graphs(GRAPHS[:5]))
    assert np.isfinite(embeddings).all()
    assert len(np.unique(embeddings.round(4), axis=0)) > 1


def test_a_distant_deadline_changes_nothing(trained: Greed) -> None:
    model = train_embedder(GRAPHS, NUM_LABELS, TINY, deadline=time.monotonic() + 3600)
    assert weights(model) == weights(trained)
    assert not model.facts["cut_short"]
