"""The three toxic groups of the planted dataset: what they are, where they are in a graph, and how to be rid of them.

They are defined by elements and connections alone, because that is all a graph classifier sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from comrecgc.graphs import Edit, EditKind, Graph

Kind = Literal["nitro", "epoxide", "nitrosamine"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ELEMENTS = ("C", "O", "N", "S", "F", "Cl", "Br")
"""Label names of the planted dataset."""

C, O, N, S, F, CL, BR = range(len(ELEMENTS))


class Toxicophore(NamedTuple):
    """A toxic group in a graph.

    | kind        | nodes                                                               |
    |-------------|---------------------------------------------------------------------|
    | nitro       | nitrogen, then its two oxygens that are bound to nothing else       |
    | epoxide     | oxygen, then the two carbons that close a three-ring with it        |
    | nitrosamine | nitrogen of the amine, the nitrogen bound to it, the latter's oxygen |
    """

    kind: Kind
    nodes: tuple[int, ...]


def find_toxicophores(graph: Graph) -> tuple[Toxicophore, ...]:
    """Every toxic group in a graph over `ELEMENTS`, in node ids, sorted.

    A nitrogen with two or more lone oxygens is one nitro group; a nitrogen of degree 2 between a nitrogen and a lone
    oxygen makes a nitrosamine; a three-ring of one oxygen and two carbons is an epoxide.
    """
    labels = graph.labels.tolist()
    neighbours: list[set[int]] = [set() for _ in labels]
    for i, j in graph.edges.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    found = [*_at_nitrogens(labels, neighbours), *_epoxides(labels, neighbours)]
    ids = graph.ids.tolist()
    return tuple(sorted(Toxicophore(kind, tuple(ids[node] for node in nodes)) for kind, nodes in found))


def _at_nitrogens(labels: list[int], neighbours: list[set[int]]) -> Iterator[Toxicophore]:
    for nitrogen in (node for node, label in enumerate(labels) if label == N):
        around = neighbours[nitrogen]
        oxygens = sorted(node for node in around if labels[node] == O and len(neighbours[node]) == 1)
        amines = sorted(node for node in around if labels[node] == N)
        if len(oxygens) >= 2:
            yield Toxicophore("nitro", (nitrogen, oxygens[0], oxygens[1]))
        elif len(around) == 2 and oxygens and amines:
            yield Toxicophore("nitrosamine", (amines[0], nitrogen, oxygens[0]))


def _epoxides(labels: list[int], neighbours: list[set[int]]) -> Iterator[Toxicophore]:
    for oxygen in (node for node, label in enumerate(labels) if label == O):
        carbons = sorted(node for node in neighbours[oxygen] if labels[node] == C)
        for place, first in enumerate(carbons):
            for second in carbons[place + 1 :]:
                if second in neighbours[first]:
                    yield Toxicophore("epoxide", (oxygen, first, second))


def true_recourses(toxicophore: Toxicophore) -> dict[str, tuple[Edit, ...]]:
    """Ways to remove a toxic group and leave a valid molecule: what is done, and the edits that do it.

    Done to every toxic group of a planted molecule, in any combination, they leave none.
    """
    remove, relabel, cut = EditKind.REMOVE_NODE, EditKind.RELABEL, EditKind.REMOVE_EDGE
    match toxicophore:
        case Toxicophore("nitro", (nitrogen, first, second)):
            return {
                "remove the nitro group": (Edit(remove, first), Edit(remove, second), Edit(remove, nitrogen)),
                "make it a carboxylic acid": (Edit(relabel, nitrogen, C),),
            }
        case Toxicophore("epoxide", (oxygen, first, second)):
            return {
                "open the ring": (Edit(cut, first, oxygen),),
                "open the ring on the other side": (Edit(cut, second, oxygen),),
                "make it a cyclopropane": (Edit(relabel, oxygen, C),),
                "remove the oxygen": (Edit(cut, first, oxygen), Edit(remove, oxygen)),
            }
        case Toxicophore("nitrosamine", (_, nitrogen, oxygen)):
            return {
                "remove the nitroso group": (Edit(remove, oxygen), Edit(remove, nitrogen)),
                "make it a formamide": (Edit(relabel, nitrogen, C),),
            }
    raise AssertionError(f"not a toxicophore: {toxicophore}")
