from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.algorithms.baselines.baseline import Counterfactuals
from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer, GcfState, GcfWalker
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, apply_edit, apply_path
from comrecgc.run import RunContext
from tests.algorithms.baselines.subjects import Killed, killing, small_subject
from tests.stubs import Histogram

SUBJECT = small_subject(30)
THETA = 0.1203  # no distance of these graphs is near it
WALK = GCFExplainer(num_steps=120, walk_theta=THETA)


def walked(walk: GCFExplainer = WALK, steps: int = 60, seed: int = 0) -> tuple[GcfWalker, GcfState]:
    walker = GcfWalker(walk, SUBJECT, seed=0)
    state = walker.begin(np.random.default_rng(seed))
    for _ in range(steps):
        walker.step(state)
    return walker, state


def rows_of(found: Counterfactuals) -> list[tuple[int | None, object, float]]:
    return [(each.input, each.path, each.probability) for each in found.found]


def covered(graph: Graph) -> set[int]:
    """Inputs within θ of a graph, one pair at a time."""
    lengths = [np.linalg.norm(Histogram(3).vector(each, graph)) for each in SUBJECT.inputs]
    return {place for place, length in enumerate(lengths) if length <= THETA}


def first_counterfactuals(state: GcfState) -> list[int]:
    return [key for key in state.table.keys[: len(SUBJECT.inputs)] if state.seen[key].probability >= 0.5]


def importances_by_hand(state: GcfState, graphs: list[Graph], keys: list[int], alpha: float) -> npt.NDArray[np.float64]:
    """`p·(α·ind + (1−α)·gain)`, gain being the mean over inputs of `max(0, c(v,G)·(1+[v∈T]) − n(G))`."""
    chosen = first_counterfactuals(state)
    counts = [sum(place in covered(state.seen[key].graph) for key in chosen) for place in range(len(SUBJECT.inputs))]
    probability = SUBJECT.classifier.accept_probability(GraphBatch.from_graphs(graphs))
    brackets = []
    for graph, key in zip(graphs, keys, strict=True):
        covers = covered(graph)
        gain = [max(0, (place in covers) * (1 + (key in chosen)) - count) for place, count in enumerate(counts)]
        brackets.append(alpha * len(covers) / len(counts) + (1 - alpha) * float(np.mean(gain)))
    return np.array(probability) * brackets if any(brackets) else np.array(probability)


@pytest.mark.parametrize(("alpha", "small", "steps"), [(0.5, 0, 40), (0.0, 256, 0), (0.3, 256, 40), (1.0, 256, 40)])
def test_the_head_goes_by_importance_times_frequency(
    alpha: float, small: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comrecgc.algorithms.baselines.gcfexplainer._SMALL", small)
    monkeypatch.setattr("comrecgc.algorithms.baselines.gcfexplainer._FIRST_LOOK", 4)
    walker, state = walked(replace(WALK, alpha=alpha), steps, seed=1)
    around, keys, _ = walker.options(state)
    current = state.current.graph
    graphs = [current, *(apply_edit(current, around.hood.table[i]) for i in range(len(around.keys)))]
    weights = importances_by_hand(state, graphs, keys, alpha) * np.array(list(state.table.frequency(keys)))
    drawn = dict.fromkeys(keys, 0)
    for _ in range(3000):
        drawn[walker._moved(state).key] += 1
    np.testing.assert_allclose(np.array(list(drawn.values())) / 3000, weights / weights.sum(), atol=0.03)


@pytest.mark.parametrize("capacity", [100_000, 15])
def test_inputs_are_counted_by_the_first_counterfactuals_of_the_table(capacity: int) -> None:
    walker, state = walked(replace(WALK, capacity=capacity), 0)
    for _ in range(200):
        walker.step(state)
        counts = np.zeros(len(SUBJECT.inputs), int)
        for key in first_counterfactuals(state):
            counts[state.seen[key].covers] += 1
        np.testing.assert_array_equal(state.counts, counts)
    weights = walker.teleport_weights(state)
    expected = np.exp(-state.counts.astype(float))
    np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum())


def test_what_a_graph_covers_and_its_path_are_true() -> None:
    _, state = walked(steps=100)
    for each in state.seen.values():
        assert set(each.covers.tolist()) == covered(each.graph)
        assert each.graph == apply_path(SUBJECT.inputs[each.start], each.path)


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"alpha": 1.0}, {"walk_theta": 0.2}])
def test_options_matter(options: dict[str, object]) -> None:
    plain = WALK.run(SUBJECT, np.random.default_rng(0))
    other = replace(WALK, **options).run(SUBJECT, np.random.default_rng(0))  # type: ignore[arg-type]
    assert other.found
    assert rows_of(other) != rows_of(plain)
    assert rows_of(replace(WALK, **options).run(SUBJECT, np.random.default_rng(0))) == rows_of(other)  # type: ignore[arg-type]


def test_a_killed_walk_goes_on_to_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = WALK
    whole = walk.run(SUBJECT, np.random.default_rng(0))
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)
    with pytest.raises(Killed):
        walk.run(SUBJECT, np.random.default_rng(0), RunContext(progress=killing, checkpoint=tmp_path))
    rest = walk.run(SUBJECT, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))
    assert rest.complete
    assert rows_of(rest) == rows_of(whole)
    with pytest.raises(InputError, match="other parameters"):
        replace(walk, alpha=0.7).run(SUBJECT, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))


def test_no_time_is_an_incomplete_answer() -> None:
    assert not WALK.run(SUBJECT, np.random.default_rng(0), RunContext(time_budget=1e-9)).complete


def test_the_memory_for_neighbourhoods_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = rows_of(WALK.run(SUBJECT, np.random.default_rng(0)))
    monkeypatch.setattr("comrecgc.algorithms.baselines.gcfexplainer._CACHE_BYTES", 0)
    assert rows_of(WALK.run(SUBJECT, np.random.default_rng(0))) == plain


@pytest.mark.parametrize("options", [{"alpha": 1.5}, {"num_steps": 0}, {"walk_theta": 0.0}])
def test_bad_options_are_one_line(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="got"):
        GCFExplainer(**options)  # type: ignore[arg-type]


def test_nothing_rejected_is_an_empty_answer() -> None:
    assert len(WALK.run(replace(SUBJECT, inputs=[]), np.random.default_rng(0))) == 0
