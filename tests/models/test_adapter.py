from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINEConv, Sequential, global_add_pool, global_mean_pool
from torch_geometric.nn.models import GIN

from comrecgc.data import from_pyg
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import GraphClassifier, as_classifier, predict
from comrecgc.models.adapter import AdaptedClassifier
from comrecgc.models.classifier import as_scores, check_target_class, class_probability, detect_return_type
from tests.models.data import marked_dataset

DATASET = marked_dataset(30)


class Net(torch.nn.Module):
    """A small graph network with everything that depends on the mode, and a choice of last step."""

    def __init__(self, width: int = 3, scores: int = 2, last: Callable[[Tensor], Any] | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.drop, self.head = Linear(width, 8), BatchNorm1d(8), Dropout(0.5), Linear(8, scores)
        self.last = last or torch.nn.Identity()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        x = self.norm(self.first(x))
        x = x + torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.last(self.head(self.drop(global_add_pool(x, batch))))


def logits(net: Net) -> np.ndarray:
    """What the net answers for the whole dataset, by PyG's own batching."""
    batch = Batch.from_data_list(DATASET.to_pyg())
    with torch.no_grad():
        hidden = net.eval().head(_pooled(net, batch))
    return np.asarray(hidden.double())


def _pooled(net: Net, batch: Batch) -> Tensor:
    x = net.norm(net.first(batch.x))
    x = x + torch.zeros_like(x).index_add(0, batch.edge_index[1], x[batch.edge_index[0]])
    pooled: Tensor = global_add_pool(x, batch.batch)
    return pooled


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return shares


def probability(classifier: Any) -> np.ndarray:
    return predict(classifier, DATASET).probability


@pytest.mark.parametrize(
    "last", [None, lambda s: s.softmax(dim=1), lambda s: s.log_softmax(dim=1)], ids=["raw", "probs", "log_probs"]
)
def test_two_classes_in_every_form_are_recognised(last: Callable[[Tensor], Tensor] | None) -> None:
    net = Net(last=last)
    expected = softmax(logits(net))
    np.testing.assert_allclose(probability(as_classifier(net, DATASET)), expected[:, 1], atol=1e-5)
    np.testing.assert_allclose(probability(as_classifier(net, DATASET, accept=0)), expected[:, 0], atol=1e-5)


@pytest.mark.parametrize("squeeze", [False, True])
def test_a_single_sigmoid(squeeze: bool) -> None:
    net = Net(scores=1, last=lambda s: torch.sigmoid(s).squeeze() if squeeze else torch.sigmoid(s))
    with pytest.raises(InputError, match=r"return_type, .* must be one of"):
        as_classifier(net, DATASET)
    classifier = as_classifier(net, DATASET, return_type="probs")
    expected = 1 / (1 + np.exp(-logits(net)[:, 0]))
    np.testing.assert_allclose(probability(classifier), expected, atol=1e-6)
    one = GraphBatch.from_graphs([DATASET[3]])
    np.testing.assert_allclose(classifier.accept_probability(one), expected[3:4], atol=1e-6)


def test_a_single_logit() -> None:
    net = Net(scores=1)
    expected = 1 / (1 + np.exp(-logits(net)[:, 0]))
    np.testing.assert_allclose(probability(as_classifier(net, DATASET, return_type="raw")), expected, atol=1e-6)


def test_three_classes_need_a_target() -> None:
    net = Net(scores=3)
    with pytest.raises(InputError, match="accept must choose the class"):
        as_classifier(net, DATASET)
    rest = as_classifier(net, DATASET, accept=2, decision="rest")
    np.testing.assert_allclose(probability(rest), softmax(logits(net))[:, 2], atol=1e-6)
    likeliest = predict(as_classifier(net, DATASET, accept=2), DATASET)
    np.testing.assert_array_equal(likeliest.accepted, logits(net).argmax(axis=1) == 2)
    with pytest.raises(InputError, match=r"^decision must be one of argmax, rest \(got 'best'\)$"):
        as_classifier(net, DATASET, accept=2, decision="best")


def test_from_one_class_to_another() -> None:
    net = Net(scores=3)
    said = logits(net).argmax(axis=1)
    source, target = np.argsort(np.bincount(said, minlength=3))[::-1][:2].tolist()
    assert (said == source).any()
    predictions = predict(as_classifier(net, DATASET, accept=target, reject=source), DATASET)
    np.testing.assert_array_equal(predictions.rejects, np.flatnonzero(said == source))
    with pytest.raises(InputError, match=r"^reject must lie in 0…2 and not be the target \(got 1\)$"):
        as_classifier(net, DATASET, accept=1, reject=1)


def test_a_regression_model_with_a_threshold() -> None:
    net = Net(scores=1)
    numbers = logits(net)[:, 0]
    limit = float(np.median(numbers))
    higher = predict(as_classifier(net, DATASET, threshold=limit), DATASET)
    np.testing.assert_array_equal(higher.accepted, numbers > limit)
    lower = predict(as_classifier(net, DATASET, threshold=limit, accept="lower"), DATASET)
    np.testing.assert_array_equal(lower.accepted, numbers < limit)
    order = np.argsort(numbers)
    assert (np.diff(higher.probability[order]) >= 0).all()
    for options, words in [
        ({"threshold": np.nan}, r"threshold must be a finite number"),
        ({"threshold": 0.0, "accept": "up"}, r"accept must be 'higher' or 'lower'"),
        ({"threshold": 0.0, "accept": 1}, r"threshold and a class must not both be given"),
        ({"accept": "lower"}, r"accept is a class, or a side of a threshold"),
    ]:
        with pytest.raises(InputError, match=words):
            as_classifier(net, DATASET, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="threshold is for models that answer"):
        as_classifier(Net(), DATASET, threshold=0.0)


def test_a_model_returning_a_tuple() -> None:
    plain = probability(as_classifier(Net(), DATASET))
    for last in (lambda s: (s, torch.zeros(7, 3)), lambda s: {"loss": torch.tensor(0.0), "y": s}):
        np.testing.assert_array_equal(probability(as_classifier(Net(last=last), DATASET)), plain)
    both = Net(last=lambda s: (torch.zeros(len(s), 20), s))
    with pytest.raises(InputError, match=r"^output must name .* \(got shapes 0: \(30, 20\), 1: \(30, 2\)\)$"):
        as_classifier(both, DATASET)
    np.testing.assert_array_equal(probability(as_classifier(both, DATASET, output=1)), plain)
    named = Net(last=lambda s: SimpleNamespace(logits=s))
    np.testing.assert_array_equal(probability(as_classifier(named, DATASET, output="logits")), plain)
    with pytest.raises(InputError, match=r"^output must name one of the model's outputs \(got 5\)$"):
        as_classifier(both, DATASET, output=5)


def test_the_output_found_once_is_kept() -> None:
    # With one graph a second output would fit as well.
    net = Net(last=lambda s: (torch.full((1, 2), 9.0), s))
    classifier = as_classifier(net, DATASET)
    one = classifier.accept_probability(GraphBatch.from_graphs([DATASET[0]]))
    np.testing.assert_allclose(one, softmax(logits(net))[:1, 1], atol=1e-6)


def test_pyg_gin_with_a_head() -> None:
    torch.manual_seed(0)
    steps = [(GIN(3, 16, num_layers=2), "x, edge_index -> x"), (global_mean_pool, "x, batch -> x"), Linear(16, 2)]
    model = Sequential("x, edge_index, batch", steps)
    batch = Batch.from_data_list(DATASET.to_pyg())
    with torch.no_grad():
        expected = model.eval()(batch.x, batch.edge_index, batch.batch).softmax(dim=1)[:, 1]
    np.testing.assert_allclose(probability(as_classifier(model, DATASET)), expected, atol=1e-6)


def test_pyg_gin_alone_answers_per_node() -> None:
    with pytest.raises(InputError, match="it answers per node"):
        as_classifier(GIN(3, 16, num_layers=2, out_channels=2), DATASET)


class DataNet(Net):
    """Called with one PyG object, and told what to multiply by."""

    def forward(self, data: Batch, scale: float = 1.0) -> Tensor:  # type: ignore[override]
        assert data.num_graphs == int(data.batch[-1]) + 1
        return scale * super().forward(data.x, data.edge_index, data.batch)  # type: ignore[no-any-return]


def test_a_model_called_with_data_and_further_arguments() -> None:
    net = DataNet()
    np.testing.assert_allclose(probability(as_classifier(net, DATASET)), softmax(logits(net))[:, 1], atol=1e-6)
    scaled = probability(as_classifier(net, DATASET, scale=3.0))
    np.testing.assert_allclose(scaled, softmax(3 * logits(net))[:, 1], atol=1e-5)


def share_of_label_two(graphs: list[Data]) -> list[float]:
    return [float(data.x[:, 2].mean()) for data in graphs]


def test_a_function_of_pyg_graphs_and_one_of_ours() -> None:
    expected = [float((graph.labels == 2).mean()) for graph in DATASET]
    classifier = as_classifier(share_of_label_two, DATASET, return_type="probs")
    np.testing.assert_allclose(probability(classifier), expected)

    def ours(graphs: list[Graph]) -> np.ndarray:
        return np.array([[(graph.labels != 2).mean(), (graph.labels == 2).mean()] for graph in graphs])

    np.testing.assert_allclose(probability(as_classifier(ours, DATASET, call="graphs")), expected)


class BondNet(torch.nn.Module):
    """Takes edge features in front of the batch vector."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = GINEConv(Linear(3, 4), edge_dim=2), Linear(4, 2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        return self.head(global_add_pool(self.conv(x, edge_index, edge_attr), batch))  # type: ignore[no-any-return]


def test_edge_labels_reach_a_model_that_takes_them() -> None:
    graphs = tuple(Graph(g.labels, g.edges, np.arange(g.num_edges) % 2) for g in DATASET.graphs)
    dataset, table = replace(DATASET, graphs=graphs), np.array([[1.0, 0.0], [0.0, 3.0]])
    net = BondNet()
    classifier = as_classifier(net, dataset, edge_features=table)
    assert isinstance(classifier, AdaptedClassifier)
    data = dataset.to_pyg()
    for item in data:
        item.edge_attr = torch.from_numpy(table).float()[item.edge_label]
    batch = Batch.from_data_list(data)
    with torch.no_grad():
        expected = net(batch.x, batch.edge_index, batch.edge_attr, batch.batch).softmax(dim=1)[:, 1]
    np.testing.assert_allclose(predict(classifier, dataset).probability, expected, atol=1e-6)
    with pytest.raises(InputError, match=r"^edge_features needs graphs with edge labels \(got graphs without\)$"):
        as_classifier(net, DATASET, edge_features=table)
    with pytest.raises(InputError, match=r"row for every edge label \(got 1, label 1\)"):
        as_classifier(net, dataset, edge_features=table[:1])
    with pytest.raises(InputError, match="edge_features must be a table"):
        as_classifier(net, dataset, edge_features=[1.0, 2.0])


def test_modes_gradients_and_graphs_are_left_alone() -> None:
    def greedy(scores: Tensor) -> Tensor:
        assert not torch.is_grad_enabled()
        return scores

    class Mutating(Net):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
            assert not self.training
            result = super().forward(x, edge_index, batch)
            x.zero_()
            edge_index.zero_()
            return result

    net = Mutating(last=greedy).train()
    net.norm.eval()
    table = np.eye(3, dtype=np.float32)
    dataset = replace(DATASET, features=table)
    copies = [(graph.labels.copy(), graph.edges.copy()) for graph in dataset.graphs]
    before = {name: value.clone() for name, value in net.state_dict().items()}
    first, second = (predict(as_classifier(net, dataset), dataset).probability for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert net.training
    assert net.drop.training
    assert not net.norm.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    np.testing.assert_array_equal(table, np.eye(3))
    for graph, (labels, edges) in zip(dataset.graphs, copies, strict=True):
        np.testing.assert_array_equal(graph.labels, labels)
        np.testing.assert_array_equal(graph.edges, edges)


def test_modes_are_restored_after_a_failure() -> None:
    def fail(scores: Tensor) -> Tensor:  # noqa: ARG001
        raise RuntimeError("two\nlines")

    net = Net(last=fail).train()
    with pytest.raises(InputError, match=r"^The model failed on 30 graphs, .*\[\d+, 3\]: RuntimeError: two lines$"):
        as_classifier(net, DATASET)
    assert net.training


def test_inputs_are_made_on_the_device_of_the_model() -> None:
    seen = []

    class Meta(Net):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
            seen.extend([x.device, edge_index.device, batch.device])
            return torch.tensor([[0.5, 3.0]]).expand(len(DATASET), 2)

    as_classifier(Meta().to("meta"), DATASET)
    assert {device.type for device in seen} == {"meta"}


def test_a_feature_width_that_does_not_match_is_named() -> None:
    words = r"^The model's first layer must take features as wide as the data's, 3 \(got 7\)$"
    with pytest.raises(InputError, match=words):
        as_classifier(Net(width=7), DATASET)
    with pytest.raises(InputError, match=words):
        as_classifier(GIN(7, 16, num_layers=2), DATASET)


def test_nan_is_refused_at_once_and_later() -> None:
    with pytest.raises(InputError, match=r"\(got NaN for graph 0 of 30\)$"):
        as_classifier(Net(last=lambda s: s * float("nan")), DATASET)
    net = Net()
    classifier = as_classifier(net, DATASET)
    with torch.no_grad():
        net.head.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="got NaN"):
        probability(classifier)


def test_scores_that_are_not_probabilities_though_declared_so_are_refused() -> None:
    with pytest.raises(InputError, match=r"^return_type='probs' needs scores in \[0, 1\] \(got "):
        as_classifier(Net(), DATASET, return_type="probs")


@pytest.mark.parametrize(("scores", "rejects"), [([5.0, -5.0], 30), ([-5.0, 5.0], 0)])
def test_a_model_that_always_answers_one_class_is_valid(scores: list[float], rejects: int) -> None:
    predictions = predict(as_classifier(lambda graphs: [scores] * len(graphs), DATASET), DATASET)
    assert len(predictions.rejects) == rejects
    assert predictions.warning is not None


def test_our_own_classifier_is_checked_against_the_data() -> None:
    model = GraphClassifier("gcn", 3)
    assert as_classifier(model, DATASET) is model
    with pytest.raises(InputError, match=r"^The classifier must know the 3 node labels of marked \(got 5\)$"):
        as_classifier(GraphClassifier("gcn", 5), DATASET)
    model.facts = {"label_names": ["C", "N", "O"]}
    with pytest.raises(InputError, match=r"^The classifier must know the node labels L0, L1, L2 \(got C, N, O\)$"):
        as_classifier(model, DATASET)


def test_what_cannot_be_called_or_understood_is_refused() -> None:
    class Strange(torch.nn.Module):
        def forward(self, nodes: Tensor, links: Tensor) -> Tensor:  # noqa: ARG002
            return nodes

    with pytest.raises(InputError, match=r"^call must be one of .* \(got forward\(nodes, links\)\)$"):
        as_classifier(Strange(), DATASET)
    with pytest.raises(InputError, match=r"^The model must be a torch module, .* \(got str\)$"):
        as_classifier("model.pth", DATASET)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^return_type must be one of raw, probs, log_probs \(got 'logits'\)$"):
        as_classifier(Net(), DATASET, return_type="logits")
    with pytest.raises(InputError, match=r"^call must be one of .* \(got 'pyg'\)$"):
        as_classifier(Net(), DATASET, call="pyg")
    with pytest.raises(InputError, match=r"got none in marked"):
        as_classifier(Net(), DATASET.subset([]))


def test_a_single_graph_is_enough_to_try_a_model_on() -> None:
    net = Net(last=lambda s: s.squeeze())
    classifier = as_classifier(net, DATASET.subset([4]))
    assert isinstance(classifier, AdaptedClassifier)
    assert (classifier.num_scores, classifier.reading.return_type) == (2, "raw")
    with pytest.raises(InputError, match=r"node labels 0…2 \(got 3\)"):
        classifier.accept_probability(GraphBatch.from_graphs([Graph([3], [])]))


class EdgesFirst(torch.nn.Module):
    """A module whose arguments come in another order than PyG's."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(width, 2)

    def forward(self, edge_index: torch.Tensor, nodes: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        assert edge_index.shape[0] == 2
        pooled = torch.zeros(int(batch.max()) + 1, nodes.shape[1]).index_add(0, batch, nodes)
        return self.lin(pooled)  # type: ignore[no-any-return]


def test_arguments_in_another_order_are_found_by_their_names() -> None:
    dataset = DATASET
    model = EdgesFirst(dataset.num_labels)
    counts = np.stack([np.bincount(graph.labels, minlength=dataset.num_labels) for graph in dataset])
    with torch.no_grad():
        expected = torch.softmax(model.lin(torch.from_numpy(counts).float()), dim=1)[:, 1]
    found = predict(as_classifier(model, dataset), dataset).probability
    np.testing.assert_allclose(found, expected, atol=1e-6)


LOGITS = np.array([[2.0, -1.0], [-0.5, 3.0], [0.25, 0.0]])
PROBABILITY = 1 / (1 + np.exp(LOGITS[:, 0] - LOGITS[:, 1]))
PROBS = np.stack([1 - PROBABILITY, PROBABILITY], axis=1)


@pytest.mark.parametrize(
    ("scores", "return_type"), [(LOGITS, "raw"), (PROBS, "probs"), (np.log(PROBS), "log_probs"), (LOGITS - 9, "raw")]
)
def test_several_scores_give_their_kind_away(scores: np.ndarray, return_type: str) -> None:
    assert detect_return_type(scores) == return_type
    np.testing.assert_allclose(class_probability(scores, return_type, 1), PROBABILITY)
    np.testing.assert_allclose(class_probability(scores, return_type, 0), 1 - PROBABILITY)


@pytest.mark.parametrize("scores", [[[3.0], [-1.0]], [[0.5], [1.5]], [[-2.0], [0.5]]])
def test_single_scores_that_can_only_be_raw(scores: list[list[float]]) -> None:
    assert detect_return_type(np.array(scores)) == "raw"


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[0.2], [0.9]], r"single scores in \[0, 1\]"),
        ([[-0.2], [-3.0]], "single scores below 0"),
        ([[0.2, 0.9], [0.1, 0.3]], "rows do not sum to 1"),
    ],
)
def test_scores_that_leave_a_doubt_are_asked_about(scores: list[list[float]], words: str) -> None:
    with pytest.raises(
        InputError, match=rf"^return_type.* must be one of .*'raw', 'probs', 'log_probs' \(got .*{words}"
    ):
        detect_return_type(np.array(scores))


@pytest.mark.parametrize(
    ("scores", "return_type", "expected"),
    [
        ([[0.0], [np.log(3)]], "raw", [0.5, 0.75]),
        ([[0.2], [1.0]], "probs", [0.2, 1.0]),
        ([[np.log(0.4)]], "log_probs", [0.4]),
    ],
)
def test_single_scores_are_about_class_one(scores: list[list[float]], return_type: str, expected: list[float]) -> None:
    np.testing.assert_allclose(class_probability(np.array(scores), return_type, 1), expected)
    np.testing.assert_allclose(class_probability(np.array(scores), return_type, 0), 1 - np.array(expected))


@pytest.mark.parametrize("return_type", ["raw", "probs", "log_probs"])
def test_three_classes_are_one_against_the_rest(return_type: str) -> None:
    probs = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    scores = {"raw": np.log(probs) + 4.0, "probs": probs, "log_probs": np.log(probs)}[return_type]
    for target in range(3):
        against_rest = class_probability(scores, return_type, target, decision="rest")
        np.testing.assert_allclose(against_rest, probs[:, target])
        likeliest = class_probability(scores, return_type, target) > 0.5
        assert likeliest.tolist() == (probs.argmax(axis=1) == target).tolist()


def test_above_one_half_means_the_larger_score_to_the_last_bit() -> None:
    close = np.array([[3.0, np.nextafter(3.0, 4)], [3.0, 3.0], [np.nextafter(3.0, 4), 3.0]])
    assert (class_probability(close, "raw", 1) > 0.5).tolist() == [True, False, False]
    assert (class_probability(np.array([[1e4, -1e4]]), "raw", 0)).tolist() == [1.0]


def test_certain_log_probabilities() -> None:
    assert class_probability(np.array([[0.0, -np.inf], [-np.inf, 0.0]]), "log_probs", 1).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("scores", "return_type", "words"),
    [
        ([[0.2], [1.37]], "probs", r"return_type='probs' needs scores in \[0, 1\]"),
        ([[-0.5]], "probs", r"needs scores in \[0, 1\]"),
        ([[0.5, 0.9]], "probs", "needs probabilities that sum to 1"),
        ([[-1.0, 2.0]], "log_probs", "return_type='log_probs' needs scores below 0"),
        ([[-1.0, -1.0]], "log_probs", r"sum to 1 \(got 0\.735759\)"),
        ([[np.inf, 0.0]], "raw", r"finite scores \(got inf\)"),
    ],
)
def test_scores_that_are_not_what_they_should_be_are_refused(scores: object, return_type: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        class_probability(np.array(scores), return_type, 1)


def test_answers_come_in_many_forms() -> None:
    assert as_scores([1, 2, 3], 3, 9).tolist() == [[1.0], [2.0], [3.0]]
    assert as_scores(torch.ones(2, 2, requires_grad=True), 2, 9).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert as_scores(torch.tensor([4.0, 5.0]), 1, 9, num_scores=2).tolist() == [[4.0, 5.0]]  # squeezed
    assert as_scores(torch.tensor(4.0), 1, 9, num_scores=1).tolist() == [[4.0]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.ones((9, 2)), "one row of scores per graph"),
        (np.ones((3, 2, 2)), r"got shape \(3, 2, 2\) for 3 graphs\)"),
        (1.0, r"got shape \(\) for 3 graphs\)"),
        ("yes", r"must answer with numbers \(got str\)"),
        (np.ones((3, 0)), "at least one score"),
        ([0.0, float("nan"), 1.0], r"\(got NaN for graph 1 of 3\)"),
    ],
)
def test_answers_nobody_can_read_are_refused(answer: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_scores(answer, 3, 9)


def test_target_class() -> None:
    assert check_target_class(1, None) == check_target_class(2, None) == 1
    assert check_target_class(1, 0) == check_target_class(2, 0) == 0
    assert check_target_class(3, 2) == 2
    with pytest.raises(InputError, match=r"^accept must choose the class to reach among 0…2 \(got none\)$"):
        check_target_class(3, None)
    for wrong in (-1, 2):
        with pytest.raises(InputError, match=rf"^accept must lie in 0…1 \(got {wrong}\)$"):
            check_target_class(2, wrong)


class Plain(torch.nn.Module):
    """What TorchScript can compile: a mean of features, once passed along edges, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.head = Linear(3, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = x + torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        out: Tensor = self.head(torch.zeros(int(batch.max()) + 1, 3).index_add(0, batch, x))
        return out


@pytest.mark.filterwarnings("ignore")  # torch calls TorchScript deprecated, and warns of constants in traces
@pytest.mark.parametrize("compiled", ["script", "compile"])
def test_scripted_and_compiled_modules(compiled: str) -> None:
    net = Plain().eval()
    made = torch.jit.script(net) if compiled == "script" else torch.compile(net)
    expected = probability(as_classifier(net, DATASET))
    np.testing.assert_allclose(probability(as_classifier(made, DATASET)), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_traced_module_is_called_by_its_arguments() -> None:
    class Summed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.head = Linear(3, 2)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            sizes = torch.zeros(len(DATASET), 3)  # a trace fixes what is counted in Python
            x = x + torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
            out: Tensor = self.head(sizes.index_add(0, batch, x))
            return out

    net, batch = Summed().eval(), Batch.from_data_list(DATASET.to_pyg())
    traced = torch.jit.trace(net, (batch.x, batch.edge_index, batch.batch))  # type: ignore[no-untyped-call]
    expected = probability(as_classifier(net, DATASET))
    np.testing.assert_allclose(probability(as_classifier(traced, DATASET)), expected, atol=1e-6)


@pytest.mark.parametrize("num_graphs", [1, 4])
@pytest.mark.filterwarnings("ignore")
def test_a_trace_of_few_graphs_is_asked_about_so_many_at_a_time(num_graphs: int) -> None:
    net = Net().eval()
    batch = Batch.from_data_list(DATASET.to_pyg()[:num_graphs])
    traced = torch.jit.trace(net, (batch.x, batch.edge_index, batch.batch))  # type: ignore[no-untyped-call]
    asked = as_classifier(traced, DATASET)
    np.testing.assert_allclose(probability(asked), probability(as_classifier(net, DATASET)), atol=1e-6)


def bonded(edge_attr: Callable[[int], Tensor]) -> list[Data]:
    """The graphs with attributes on their edges, the same on both directions."""
    graphs = DATASET.to_pyg()
    for graph in graphs:
        half = edge_attr(graph.num_edges // 2)
        graph.edge_attr = torch.cat([half, half])
    return graphs


def test_edge_attributes_of_the_data_reach_the_model() -> None:
    graphs = bonded(lambda count: torch.eye(2)[torch.arange(count) % 2])
    dataset, net = from_pyg(graphs), BondNet()
    batch = Batch.from_data_list(graphs)
    with torch.no_grad():
        expected = net(batch.x, batch.edge_index, batch.edge_attr, batch.batch).softmax(dim=1)[:, 1]
    np.testing.assert_allclose(predict(as_classifier(net, dataset), dataset).probability, expected, atol=1e-6)
    with pytest.raises(InputError, match=r"^The model takes edge_attr: .* The graphs have none\.$"):
        as_classifier(net, DATASET)


def test_a_model_that_must_have_edge_weights_gets_those_of_the_data_or_ones() -> None:
    class Weighted(Net):
        def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor) -> Any:  # type: ignore[override]
            x = self.norm(self.first(x))
            x = x + torch.zeros_like(x).index_add(0, edge_index[1], edge_weight[:, None] * x[edge_index[0]])
            return self.head(global_add_pool(x, batch))

    net = Weighted().eval()
    plain = Net().eval()
    np.testing.assert_allclose(
        probability(as_classifier(net, DATASET)), probability(as_classifier(plain, DATASET)), atol=1e-6
    )
    graphs = bonded(lambda count: 0.5 + torch.arange(count) % 2)
    batch, dataset = Batch.from_data_list(graphs), from_pyg(graphs)
    with torch.no_grad():
        expected = net(batch.x, batch.edge_index, batch.edge_attr, batch.batch).softmax(dim=1)[:, 1]
    np.testing.assert_allclose(predict(as_classifier(net, dataset), dataset).probability, expected, atol=1e-6)


@pytest.mark.parametrize("columns", [True, False])
def test_whole_numbers_are_given_to_embeddings_as_integers(columns: bool) -> None:
    class Embedded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.nodes, self.bonds, self.head = torch.nn.Embedding(9, 4), torch.nn.Embedding(3, 4), Linear(4, 2)

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
            x = self.nodes(x[:, 0] if columns else x)
            sent = x[edge_index[0]] + self.bonds(edge_attr[:, 0] if columns else edge_attr)
            out: Tensor = self.head(global_add_pool(x.index_add(0, edge_index[1], sent), batch))
            return out

    graphs = bonded(lambda count: torch.arange(count) % 3)
    for graph in graphs:
        graph.x = 5 + graph.x.argmax(dim=1)
        if columns:
            graph.x, graph.edge_attr = graph.x[:, None], graph.edge_attr[:, None]
    net, batch, dataset = Embedded(), Batch.from_data_list(graphs), from_pyg(graphs)
    with torch.no_grad():
        expected = net(batch.x, batch.edge_index, batch.edge_attr, batch.batch).softmax(dim=1)[:, 1]
    np.testing.assert_allclose(predict(as_classifier(net, dataset), dataset).probability, expected, atol=1e-6)
