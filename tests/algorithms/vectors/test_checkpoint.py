"""Tests of comrecgc.algorithms.checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.checkpoint import Checkpoint
from comrecgc.algorithms.vectors.search import SEARCH_KINDS, Searcher, decode_search, encode_search, search_facts
from comrecgc.errors import InputError
from comrecgc.graphs.edits import AllowKinds
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer
from tests.algorithms.vectors.models import INPUTS, Models, listed, scorer, search


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    for max_rounds in (0, 1):
        state = search(max_rounds=max_rounds, effort=1.0).run(scorer(), INPUTS)
        kept, fresh = (
            Checkpoint(tmp_path / "search.npz", {"of": 1}, True),
            Searcher(search(), scorer()).begin(INPUTS, 0),
        )
        kept.save(partial(encode_search, state))
        again = kept.load(SEARCH_KINDS, partial(decode_search, fresh=fresh), optional={"centres": "f2"})
        assert again is not None
        assert listed(again) == listed(state)


def foreign(path: Path) -> None:
    np.savez(path, something=np.zeros(3))


def pickled(path: Path) -> None:
    np.savez(path, facts=np.array([{}], dtype=object))


@pytest.mark.parametrize("size", [0, 10, 0.5, -5])
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, size: float) -> None:
    path = tmp_path / "search.npz"
    search(max_rounds=0).run(scorer(), INPUTS[:2], RunContext(checkpoint=path.parent))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(size * len(whole)) if size == 0.5 else int(size)])
    refused(path, "is damaged")


@pytest.mark.parametrize("write", [foreign, pickled])
def test_foreign_files_are_refused_in_one_line(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "search.npz")
    refused(tmp_path / "search.npz", "is damaged")


def test_a_folder_is_not_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "search.npz").mkdir()
    refused(tmp_path / "search.npz", "Cannot read")


def test_flipped_bits_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "search.npz"
    search(max_rounds=0).run(scorer(), INPUTS[:2], RunContext(checkpoint=path.parent))
    whole = bytearray(path.read_bytes())
    with np.load(path) as stored:
        place = bytes(whole).index(stored["found_embeddings"].tobytes())
    whole[place + 5] ^= 64
    path.write_bytes(whole)
    refused(path, "is damaged")


def refused(path: Path, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        search(max_rounds=0).run(scorer(), INPUTS[:2], RunContext(checkpoint=path.parent, resume=True))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_search_goes_on_only_with_the_same_parameters_models_and_data(tmp_path: Path) -> None:
    path = tmp_path / "search.npz"
    same = search(max_rounds=0)
    same.run(scorer(), INPUTS[:3], RunContext(checkpoint=path.parent), seed=1)
    wider = Models()
    alphabet = NeighbourhoodScorer(wider, wider, 2, num_threads=1)
    alphabet.num_labels = 3
    others = [
        (search(max_rounds=1), scorer(), INPUTS[:3], 1),
        (search(max_rounds=0, num_recourses=3), scorer(), INPUTS[:3], 1),
        (same, scorer(), INPUTS[:3], 2),
        (same, scorer(), INPUTS[1:4], 1),
        (same, scorer(), [graph.permute(np.arange(graph.num_nodes)[::-1]) for graph in INPUTS[:3]], 1),
        (same, scorer(models=Models(bias=0.5)), INPUTS[:3], 1),
        (same, scorer(AllowKinds({"relabel"})), INPUTS[:3], 1),
        (same, alphabet, INPUTS[:3], 1),
    ]
    for other, models, inputs, seed in others:
        with pytest.raises(InputError, match="other parameters, models or data"):
            other.run(models, inputs, RunContext(checkpoint=path.parent, resume=True), seed=seed)
    assert listed(same.run(scorer(), INPUTS[:3], RunContext(checkpoint=path.parent, resume=True), seed=1))


def test_facts_are_plain_and_repeatable() -> None:
    facts = [search_facts(search(), scorer(), Searcher(search(), scorer()).begin(INPUTS, 0)) for _ in range(2)]
    assert facts[0] == facts[1]
    assert set(facts[0]) == {"search", "seed", "inputs", "models", "num_labels", "constraint"}
