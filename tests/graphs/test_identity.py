from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.data import load_dataset
from comrecgc.graphs import (
    Graph,
    GraphBatch,
    apply_edit,
    batch_keys,
    edited_batch,
    graph_key,
    one_edit_table,
    to_networkx,
)
from tests.graphs.strategies import graphs, random_graph

# A change of these values breaks every stored key.
GOLDEN = (0x5541424EA31B8020, 0xE7AA4D63F7FCC583)


def adjacency(graph: Graph) -> list[list[int]]:
    around: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for i, j in graph.edges.tolist():
        around[i].append(j)
        around[j].append(i)
    return around


def refined_classes(batch: list[Graph]) -> list[tuple[object, ...]]:
    """Exact 1-WL with colours named by their signatures, refined jointly until stable: what no hash can get wrong."""
    colours: list[list[int]] = [graph.labels.tolist() for graph in batch]
    neighbours = [adjacency(graph) for graph in batch]
    num_colours = len({colour for graph in colours for colour in graph})
    while True:
        names: dict[tuple[object, ...], int] = {}
        colours = [
            [
                names.setdefault((graph[node], tuple(sorted(graph[other] for other in around))), len(names))
                for node, around in enumerate(adjacency)
            ]
            for graph, adjacency in zip(colours, neighbours, strict=True)
        ]
        if len(names) == num_colours:
            return [tuple(sorted(graph)) for graph in colours]
        num_colours = len(names)


def agrees_with_exact_refinement(batch: list[Graph]) -> bool:
    """Whether keys split the graphs exactly as exact 1-WL does."""
    by_key, by_class = defaultdict(set), defaultdict(set)
    for index, (key, name) in enumerate(zip(map(graph_key, batch), refined_classes(batch), strict=True)):
        by_key[key].add(index)
        by_class[name].add(index)
    return sorted(map(sorted, by_key.values())) == sorted(map(sorted, by_class.values()))


def test_keys_are_the_same_everywhere() -> None:
    assert graph_key(Graph([0], [])) == GOLDEN[0]
    assert graph_key(Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)])) == GOLDEN[1]


@settings(max_examples=300, deadline=None)
@given(graphs(max_nodes=8), st.randoms(use_true_random=False))
def test_shuffled_copies_share_a_key(graph: Graph, random: object) -> None:
    order = list(range(graph.num_nodes))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert graph_key(graph.permute(order)) == graph_key(graph)


def test_thousands_of_small_graphs_split_exactly_as_refinement_splits_them() -> None:
    rng = np.random.default_rng(7)
    batch = [random_graph(rng, int(rng.integers(1, 8)), 2, rng.uniform(0.1, 0.9)) for _ in range(4000)]
    assert agrees_with_exact_refinement(batch)


def test_long_chains_are_told_apart() -> None:
    def chain(first: int, second: int) -> Graph:
        labels = [0] * 60
        labels[first], labels[second], labels[59] = 1, 1, 2
        return Graph(labels, [(i, i + 1) for i in range(59)])

    keys = {graph_key(chain(i, j)) for i in range(10, 30) for j in range(i + 1, 50)}
    assert len(keys) == sum(50 - i - 1 for i in range(10, 30))


def test_what_refinement_cannot_separate_shares_a_key() -> None:
    ring = Graph([0] * 6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph([0] * 6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    assert graph_key(ring) == graph_key(triangles)


def test_single_edges_and_labels_change_the_key() -> None:
    graph = Graph([0, 1, 0], [(0, 1), (1, 2)])
    others = list(edited_batch(graph, one_edit_table(graph, 3)))
    assert graph_key(graph) not in {graph_key(other) for other in others}


def test_edge_labels_and_ids_do_not_count() -> None:
    plain, labelled = Graph([0, 1], [(0, 1)]), Graph([0, 1], [(0, 1)], [2])
    assert graph_key(plain) == graph_key(labelled)
    table = one_edit_table(plain, 2)
    for index in range(len(table)):
        edited = apply_edit(plain, table[index])
        assert graph_key(edited) == graph_key(edited.fresh())


def test_batch_keys_equal_single_keys() -> None:
    rng = np.random.default_rng(3)
    batch = [random_graph(rng, int(rng.integers(1, 30)), 4, 0.1) for _ in range(100)]
    assert batch_keys(GraphBatch.from_graphs(batch)).tolist() == [graph_key(graph) for graph in batch]
    assert len(batch_keys(GraphBatch.from_graphs([]))) == 0


def test_shuffled_real_molecules_share_a_key(data_root: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("aids", "nci1"):
        for graph in load_dataset(name, root=data_root)[:400]:
            assert graph_key(graph.permute(rng.permutation(graph.num_nodes))) == graph_key(graph)


def test_real_molecules_and_neighbours_split_exactly_as_refinement_splits_them(data_root: Path) -> None:
    dataset = load_dataset("mutagenicity", root=data_root)
    small = min(dataset, key=lambda graph: (graph.num_nodes < 12, graph.num_nodes))
    neighbours = list(edited_batch(small, one_edit_table(small, dataset.num_labels)))
    assert agrees_with_exact_refinement([*dataset[:300], *neighbours])


def test_no_collision_among_the_neighbours_of_200_mutagenicity_graphs(data_root: Path) -> None:
    # Renaming the labels changes every hash but not what refinement separates: two graphs that share a key by chance
    # would not share it again.
    dataset = load_dataset("mutagenicity", root=data_root)
    keys, renamed_keys = [], []
    for graph in dataset[:200]:
        batch = edited_batch(graph, one_edit_table(graph, dataset.num_labels))
        keys.append(batch_keys(batch))
        renamed_keys.append(batch_keys(replace(batch, labels=7 * batch.labels + 13)))
        assert graph_key(graph) not in set(keys[-1].tolist())
    both = np.stack([np.concatenate(keys), np.concatenate(renamed_keys)], axis=1)
    num_classes = len(np.unique(both, axis=0))
    assert num_classes == len(np.unique(both[:, 0])) == len(np.unique(both[:, 1]))
    assert 150_000 < num_classes < len(both)


def test_most_shared_keys_are_isomorphic_graphs() -> None:
    rng = np.random.default_rng(11)
    graph = random_graph(rng, 9, 2, 0.3)
    batch = edited_batch(graph, one_edit_table(graph, 2))
    groups = defaultdict(list)
    for index, key in enumerate(batch_keys(batch).tolist()):
        groups[key].append(to_networkx(batch[index]))
    repeated = [group for group in groups.values() if len(group) > 1]
    assert repeated
    for group in repeated:
        assert nx.is_isomorphic(group[0], group[1], node_match=lambda x, y: x["label"] == y["label"])
