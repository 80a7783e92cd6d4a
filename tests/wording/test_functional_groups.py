"""Rules on molecules of a table name the compounds they speak of: acids, alcohols, amides."""

from __future__ import annotations

import pytest

from comrecgc.graphs import Graph, NeighbourIndex, Pattern, Rule, Schema, carry_out, distinct_sites
from comrecgc.molecules import BOND_NAMES
from comrecgc.molecules.smiles import from_smiles
from tests.wording.words import describe_rule

pytest.importorskip("rdkit", reason="SMILES need rdkit")

NAMES = ("C", "O", "N", "c", "F", "[nH]")
SINGLE, DOUBLE = 0, 1


def rule(before: Pattern, after: Pattern, kept: dict[int, int], closed: tuple[int, ...]) -> Rule:
    return Rule(
        before=before,
        after=after,
        kept=tuple(kept.items()),
        closed=tuple(node in closed for node in range(len(before.labels))),
        radius=1,
    )


def on_carbon(*beside: tuple[int, int], gains: Pattern) -> Rule:
    """A hydroxy on a carbon with these neighbours (bond, label) becomes a group."""
    labels, bonds = [0, 1], [(0, 1, SINGLE)]
    for bond, label in beside:
        bonds.append((0, len(labels), bond))
        labels.append(label)
    before = Pattern(tuple(labels), tuple((i, j) for i, j, _ in bonds), tuple(bond for *_, bond in bonds))
    stay = [0, *range(2, len(labels))]
    place = {node: k for k, node in enumerate(stay)}
    rows = [(place[i], place[j], bond) for i, j, bond in bonds if 1 not in (i, j)]
    first = len(stay)
    rows += [(0, first, SINGLE), *((i + first, j + first, bond) for (i, j), bond in gains.bonds.items())]
    rows.sort()
    after = Pattern(
        (*(labels[node] for node in stay), *gains.labels),
        tuple((i, j) for i, j, _ in rows),
        tuple(bond for *_, bond in rows),
    )
    return rule(before, after, place, (0, 1))


DIMETHYLAMINO = Pattern((2, 0, 0), ((0, 1), (0, 2)), (SINGLE, SINGLE))
FLUORINE = Pattern((4,), (), ())
METHYL = Pattern((0,), (), ())


@pytest.mark.parametrize(
    ("which", "summary"),
    [
        (on_carbon((SINGLE, 0), (DOUBLE, 1), gains=DIMETHYLAMINO),
         "replace hydroxy (–OH) of a carboxylic acid by dimethylamino (–N(CH3)2), giving an amide"),
        (on_carbon((SINGLE, 3), (DOUBLE, 1), gains=METHYL),
         "replace hydroxy (–OH) of an aromatic carboxylic acid by methyl (–CH3), giving a ketone"),
        (on_carbon((SINGLE, 0), (SINGLE, 0), gains=FLUORINE), "replace hydroxy (–OH) of a secondary alcohol by –F"),
        (on_carbon((SINGLE, 0), (SINGLE, 3), gains=FLUORINE),
         "replace hydroxy (–OH) on a CH bound to C and aromatic C (secondary benzylic alcohol) by –F"),
        (on_carbon((SINGLE, 0), (SINGLE, 1), gains=FLUORINE), "replace hydroxy (–OH) on a CH bound to C and O by –F"),
    ],
)  # fmt: skip
def test_what_leaves_is_named_by_its_family(which: Rule, summary: str) -> None:
    words = describe_rule(which, Schema(NAMES, BOND_NAMES, is_molecular=True))
    assert words.summary == summary


METHYLATION = rule(
    Pattern((2, 0, 0), ((0, 1), (0, 2)), (SINGLE, SINGLE)),
    Pattern((2, 0, 0, 0), ((0, 1), (0, 2), (0, 3)), (SINGLE, SINGLE, SINGLE)),
    {0: 0, 1: 1, 2: 2},
    (0,),
)


@pytest.mark.parametrize(
    ("molecules", "note"),
    [
        (("CNC(C)=O", "CCNC=O"), " (amides)"),
        (("CNC(C)=O", "CCNC=O", "CNCC"), " (mostly amides)"),
        (("CNC(C)=O", "CNCC"), " (amides and secondary amines)"),
        (("CNC(C)=O",), ""),
        ((), ""),
    ],
)
def test_atoms_whose_family_the_pattern_does_not_show_are_looked_up(molecules: tuple[str, ...], note: str) -> None:
    places = []
    for smiles in molecules:
        graph: Graph = from_smiles(smiles, NAMES)
        site = distinct_sites(METHYLATION, NeighbourIndex(graph), 1)[0]
        assert carry_out(METHYLATION, graph, site).num_nodes == graph.num_nodes + 1
        places.append((graph, site))
    words = describe_rule(METHYLATION, Schema(NAMES, BOND_NAMES, is_molecular=True), places=places)
    assert words.summary == f"N-methylation: attach methyl (–CH3) to an NH bound to 2 C{note}"
