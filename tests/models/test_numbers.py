"""Models of numbers with a goal."""

import numpy as np
import pytest

from comrecgc.data import Goal, GraphDataset, Numbers
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import (
    ClassifierTraining,
    GraphClassifier,
    as_goal_classifier,
    log_odds,
    train_classifier,
    training_kernels,
    with_sources,
)


def paths(count: int = 60) -> GraphDataset:
    """Paths whose number is how many nodes are labelled 1."""
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(count):
        size = int(rng.integers(4, 9))
        graphs.append(Graph(rng.integers(0, 2, size).astype(np.int32), [(k, k + 1) for k in range(size - 1)]))
    values = np.array([float((graph.labels == 1).sum()) for graph in graphs])
    dataset = GraphDataset(name="paths", graphs=tuple(graphs), classes=np.zeros(count, np.int8), label_names=("a", "b"))
    return dataset.with_numbers(Numbers(values))


def counting(graphs: list[Graph]) -> list[float]:
    return [float((graph.labels == 1).sum()) for graph in graphs]


def adapted(dataset: GraphDataset) -> object:
    from comrecgc.models import as_classifier

    return as_classifier(counting, dataset, call="graphs", threshold=2.0)


@pytest.mark.parametrize("goal", [Goal(raise_by=1), Goal(lower_by=1), Goal(to=3), Goal(to=3, lower=True)])
def test_a_graph_is_accepted_where_its_number_exceeds_the_threshold(goal: Goal) -> None:
    dataset = with_sources(paths().aiming(goal))
    model = as_goal_classifier(adapted(dataset), dataset, goal)
    changed = [
        Graph(np.ones(len(graph.labels), np.int32), graph.edges).of_source(place)
        for place, graph in enumerate(dataset.graphs)
    ]
    batch = GraphBatch.from_graphs(changed)
    assert dataset.values is not None
    surplus = goal.surplus(dataset.values, np.array(counting(changed)))
    np.testing.assert_allclose(model.numbers(batch), counting(changed), atol=1e-6)
    probability = model.accept_probability(batch)
    np.testing.assert_array_equal(probability[surplus != 0] > 0.5, surplus[surplus != 0] > 0)
    np.testing.assert_allclose(model.unit * log_odds(probability), surplus, atol=1e-6)


def test_nothing_reaches_a_relative_goal_as_it_is() -> None:
    dataset = with_sources(paths().aiming(Goal(raise_by=1)))
    model = as_goal_classifier(adapted(dataset), dataset, Goal(raise_by=1))
    assert (model.accept_probability(GraphBatch.from_graphs(dataset.graphs)) < 0.5).all()


def test_a_relative_goal_needs_to_know_where_graphs_come_from() -> None:
    dataset = with_sources(paths().aiming(Goal(raise_by=1)))
    model = as_goal_classifier(adapted(dataset), dataset, Goal(raise_by=1))
    with pytest.raises(InputError, match="graphs of the data"):
        model.accept_probability(GraphBatch.from_graphs(paths().graphs))


def test_a_classifier_has_no_number() -> None:
    dataset = paths().aiming(Goal(to=3))
    with pytest.raises(InputError, match="one number"):
        as_goal_classifier(GraphClassifier("gcn", 2), dataset, Goal(to=3))


def test_a_network_learns_a_number() -> None:
    dataset = paths(300).aiming(Goal(to=3))
    trained = train_classifier(dataset, ClassifierTraining(model="gin", epochs=60, learning_rate=0.01))
    known = trained.model.facts["number"]
    batch = GraphBatch.from_graphs(dataset.graphs)
    numbers = known["centre"] + known["unit"] * log_odds(trained.model.accept_probability(batch))
    assert np.corrcoef(numbers, dataset.values)[0, 1] > 0.8
    assert trained.accuracy["train"] > 0.5


def test_the_gradient_of_squared_error_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(1)
    logits, targets = rng.normal(size=(5, 2)), rng.normal(size=5)
    gradient = np.empty_like(logits)
    loss = training_kernels.squared_error(logits, targets, gradient)
    assert loss == pytest.approx(float(np.mean((logits[:, 1] - logits[:, 0] - targets) ** 2)))
    for place in np.ndindex(5, 2):
        moved = logits.copy()
        moved[place] += 1e-6
        slope = (training_kernels.squared_error(moved, targets, np.empty_like(logits)) - loss) / 1e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-4)
