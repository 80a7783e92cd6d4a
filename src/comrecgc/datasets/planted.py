"""The planted dataset: molecules rejected for a toxic group that was put there, so the true recourses are known.

Toxic groups are defined by elements and connections alone, because that is all a graph classifier sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from comrecgc.datasets.dataset import GraphDataset
from comrecgc.datasets.planted_molecules import ELEMENTS, KINDS, C, grow_molecule
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, graph_key
from comrecgc.molecules import BOND_NAMES, Group, Molecule

_NUM_NODES = range(10, 31)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PlantedDataset(GraphDataset):
    """A dataset whose truth is known.

    Args:
        toxicophores: The toxic groups of each graph; none in an accepted one.
    """

    toxicophores: tuple[tuple[Group, ...], ...]

    def subset(self, indices: Iterable[int]) -> PlantedDataset:
        """The graphs at the given indices, in that order."""
        chosen = list(indices)
        return replace(
            self,
            graphs=tuple(self.graphs[i] for i in chosen),
            classes=self.classes[chosen],
            toxicophores=tuple(self.toxicophores[i] for i in chosen),
        )


def load_planted(seed: int = 0, *, num_graphs: int = 600, several: bool = False) -> PlantedDataset:
    """Molecules of 10 to 30 atoms, half of them rejected for a nitro group, an epoxide or a nitrosamine.

    `true_recourses` of a graph's `toxicophores` are the edits that should be found. All molecules have different
    keys, so no two look the same to a message-passing network.

    Args:
        seed: The same seed gives the same molecules, whatever the machine.
        num_graphs: How many.
        several: Whether rejected molecules have two toxic groups or more, which all must go, instead of one.
    """
    if seed < 0:
        raise InputError(f"seed must not be negative (got {seed})")
    if num_graphs < 2:
        raise InputError(f"num_graphs must be at least 2 (got {num_graphs})")
    rng = np.random.default_rng(seed)
    graphs: list[Graph] = []
    toxicophores: list[tuple[Group, ...]] = []
    seen: set[int] = set()
    while len(graphs) < num_graphs:
        toxic = len(graphs) % 2 == 0
        graph = grow_molecule(rng, toxic=toxic)
        key, found = graph_key(graph), find_toxicophores(graph)
        if graph.num_nodes in _NUM_NODES and key not in seen and (not toxic or (len(found) > 1) == several):
            graphs.append(graph)
            toxicophores.append(found)
            seen.add(key)
    return PlantedDataset(
        name="planted",
        graphs=tuple(graphs),
        classes=np.array([not found for found in toxicophores], dtype=np.int8),
        label_names=ELEMENTS,
        class_names=("toxic", "harmless"),
        edge_label_names=BOND_NAMES[:3],
        toxicophores=tuple(toxicophores),
    )


def find_toxicophores(graph: Graph) -> tuple[Group, ...]:
    """Every nitro group, epoxide and nitrosamine in a graph over the planted dataset's elements, in node ids, sorted."""
    return tuple(sorted(group for group in Molecule(graph, ELEMENTS).groups if group.name in KINDS))


def true_recourses(toxicophore: Group) -> dict[str, tuple[Edit, ...]]:
    """Ways to remove a toxic group and leave a valid molecule: what is done, and the edits that do it.

    Done to every toxic group of a planted molecule, in any combination, they leave none.
    """
    remove, relabel, cut = EditKind.REMOVE_NODE, EditKind.RELABEL, EditKind.REMOVE_EDGE
    match toxicophore:
        case Group("nitro", (nitrogen, first, second)):
            return {
                "remove the nitro group": (Edit(remove, first), Edit(remove, second), Edit(remove, nitrogen)),
                "make it a carboxylic acid": (Edit(relabel, nitrogen, C),),
            }
        case Group("epoxide", (oxygen, first, second)):
            return {
                "open the ring": (Edit(cut, first, oxygen),),
                "open the ring on the other side": (Edit(cut, second, oxygen),),
                "make it a cyclopropane": (Edit(relabel, oxygen, C),),
                "remove the oxygen": (Edit(cut, first, oxygen), Edit(remove, oxygen)),
            }
        case Group("nitrosamine", (_, nitrogen, oxygen)):
            return {
                "remove the nitroso group": (Edit(remove, oxygen), Edit(remove, nitrogen)),
                "make it a formamide": (Edit(relabel, nitrogen, C),),
            }
    raise AssertionError(f"not a toxicophore: {toxicophore}")
