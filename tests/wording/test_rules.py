"""Rules in words: exact sentences for rules of every kind, in molecules and in other graphs.

Also tests comrecgc.wording.difference, comrecgc.wording.english, comrecgc.wording.molecules.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from comrecgc.graphs import Graph, Pattern, Rule, Schema, Site
from comrecgc.molecules import BOND_NAMES
from comrecgc.wording import RuleAt, Words, describe_rules
from comrecgc.wording.rules import LONGEST_SUMMARY, make_distinct
from tests.wording.words import describe_rule

Bond = tuple[int, int] | tuple[int, int, str]
SIGNS = {"-": 0, "=": 1, "#": 2, ":": 3}
ATOMS = ("C", "H", "N", "O", "F", "Cl", "Br", "S")  # hydrogens are atoms
HEAVY = ("C", "N", "O", "F", "Cl", "Br", "S")  # hydrogens fill the valences
FOLDS = ("helix", "sheet", "turn")


def pattern(names: Sequence[str], labels: str, bonds: Sequence[Bond], *, labelled: bool) -> Pattern:
    rows = sorted((bond[0], bond[1], SIGNS[bond[2] if len(bond) == 3 else "-"]) for bond in bonds)
    return Pattern(
        tuple(names.index(label) for label in labels.split()),
        tuple((i, j) for i, j, _ in rows),
        tuple(bond for _, _, bond in rows) if labelled else None,
    )


def rule(
    names: Sequence[str],
    before: tuple[str, Sequence[Bond]],
    after: tuple[str, Sequence[Bond]],
    kept: dict[int, int],
    closed: Sequence[int] = (),
    *,
    radius: int = 0,
    labelled: bool = True,
) -> Rule:
    """A rule; nodes that are not kept are closed."""
    old = pattern(names, *before, labelled=labelled)
    mask = tuple(node in closed or node not in kept for node in range(len(old.labels)))
    new = pattern(names, *after, labelled=labelled)
    return Rule(before=old, after=new, kept=tuple(sorted(kept.items())), closed=mask, radius=radius)


def molecule(*parts: object, names: Sequence[str] = ATOMS, **more: object) -> Words:
    found = rule(names, *parts, **more)  # type: ignore[arg-type]
    return describe_rule(
        found, Schema(tuple(names), BOND_NAMES if found.before.edge_labels is not None else None, is_molecular=True)
    )


def fold(*parts: object, names: Sequence[str] = FOLDS, **more: object) -> Words:
    return describe_rule(rule(names, *parts, labelled=False, **more), Schema(tuple(names)))  # type: ignore[arg-type]


NITRO = ("C N O O", [(0, 1), (1, 2, "="), (1, 3)])
CF3 = ("C C F F F", [(0, 1), (1, 2), (1, 3), (1, 4)])


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        # Groups that take the place of others, as read from a swap: atoms of the old are kept as atoms of the new.
        ((NITRO, CF3, {0: 0, 1: 1, 2: 2, 3: 3}, (1, 2, 3)), "replace nitro (–NO2) on a carbon by trifluoromethyl (–CF3)"),
        ((NITRO, CF3, {0: 0}), "replace nitro (–NO2) on a carbon by trifluoromethyl (–CF3)"),
        ((NITRO, ("C N H H", [(0, 1), (1, 2), (1, 3)]), {0: 0, 1: 1, 2: 2, 3: 3}, (1, 2, 3)),
         "replace nitro (–NO2) on a carbon by amino (–NH2)"),
        # Hydrogens follow: what a hydrogen gives its place to is attached, what it takes the place of is removed.
        ((("C H", [(0, 1)]), ("C O H", [(0, 1), (1, 2)]), {0: 0, 1: 1}, (1,)), "attach hydroxy (–OH) to a carbon"),
        ((("C H", [(0, 1)]), ("C O H", [(0, 1), (1, 2)]), {0: 0}), "attach hydroxy (–OH) to a carbon"),
        ((("C Cl", [(0, 1)]), ("C H", [(0, 1)]), {0: 0}), "remove –Cl from a carbon"),
        ((("C Cl", [(0, 1)]), ("C H", [(0, 1)]), {0: 0, 1: 1}, (1,)), "remove –Cl from a carbon"),
        ((("C H H", [(0, 1), (0, 2)]), ("C O", [(0, 1, "=")]), {0: 0}), "attach oxo (=O) to a carbon"),
        ((("C H H", [(0, 1), (0, 2)]), ("C F F", [(0, 1), (0, 2)]), {0: 0}), "attach two –F to a carbon"),
        ((("C H H", [(0, 1), (0, 2)]), ("C F Cl", [(0, 1), (0, 2)]), {0: 0}), "attach –F and –Cl to a carbon"),
        ((("C H", [(0, 1)]), ("C", []), {0: 0}), "remove H from a carbon"),
        ((("C H", [(0, 1)]), ("C C N", [(0, 1), (1, 2, "#")]), {0: 0, 1: 1}, (1,)), "attach cyano (–C≡N) to a carbon"),
        ((("O H", [(0, 1)]), ("O C O C H H H", [(0, 1), (1, 2, "="), (1, 3), (3, 4), (3, 5), (3, 6)]), {0: 0}),
         "O-acetylation: attach acetyl (–CO–CH3) to an oxygen"),
        ((("C H", [(0, 1)]), ("C C H H O H", [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5)]), {0: 0}),
         "attach hydroxymethyl (–CH2–OH) to a carbon"),
        ((("C H", [(0, 1)]), ("C C H H C Cl Cl H", [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5), (4, 6), (4, 7)]), {0: 0}),
         "attach –CH2–CHCl2 to a carbon"),
        ((("N N O", [(0, 1), (1, 2, "=")]), ("N H", [(0, 1)]), {0: 0}), "remove nitroso (–N=O) from a nitrogen (nitrosamine)"),
        # Atoms.
        ((("C H", [(0, 1)]), ("N", []), {0: 0}), "replace a CH by N"),
        ((("O", []), ("C H H", [(0, 1), (0, 2)]), {0: 0}), "replace an oxygen by CH2"),
        ((("C", []), ("N", []), {0: 0}), "replace a carbon by nitrogen"),
        # Bonds.
        ((("C C H H", [(0, 1), (0, 2), (1, 3)]), ("C C", [(0, 1, "=")]), {0: 0, 1: 1}), "turn a C–C single bond into a double bond"),
        ((("C C H H", [(0, 2), (1, 3)]), ("C C", [(0, 1)]), {0: 0, 1: 1}), "join two carbons by a single bond (close a ring)"),
        ((("O C H H", [(0, 2), (1, 3)]), ("O C", [(0, 1)]), {0: 0, 1: 1}), "join a carbon and an oxygen by a single bond (close a ring)"),
        ((("N N", [(0, 1)]), ("N N H H", [(0, 2), (1, 3)]), {0: 0, 1: 1}), "cut an N–N single bond"),
        # Several changes together.
        ((("C H C H", [(0, 1), (2, 3)]), ("C F C F", [(0, 1), (2, 3)]), {0: 0, 2: 2}), "attach –F to a carbon, twice"),
        ((("C H C H", [(0, 1), (2, 3)]), ("C F C Cl", [(0, 1), (2, 3)]), {0: 0, 2: 2}), "attach –F to a carbon and –Cl to another"),
        ((("C Cl C H", [(0, 1), (2, 3)]), ("C H C F", [(0, 1), (2, 3)]), {0: 0, 2: 2}), "remove –Cl from a carbon and attach –F to a carbon"),
        ((("C H H", [(0, 1), (0, 2)]), ("N F", [(0, 1)]), {0: 0}), "replace a CH2 by N and attach –F to it"),
    ],
)  # fmt: skip
def test_molecules(parts: tuple[object, ...], sentence: str) -> None:
    assert molecule(*parts).summary == sentence


RING: list[Bond] = [
    (0, 1, "="),
    (0, 2),
]  # a carbon of a ring written with single and double bonds, and its two neighbours


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((("C C C N O O", [*RING, (0, 3), (3, 4, "="), (3, 5)]), ("C C C F", [*RING, (0, 3)]), {0: 0, 1: 1, 2: 2}, (0,)),
         "replace nitro (–NO2) on an aromatic or alkene carbon by –F"),
        ((("C C C H", [*RING, (0, 3)]), ("C C C F", [*RING, (0, 3)]), {0: 0, 1: 1, 2: 2}, (0,)),
         "attach –F to an aromatic or alkene CH"),
        ((("C C C H", [*RING, (0, 3)]), ("N C C", RING), {0: 0, 1: 1, 2: 2}, (0,)),
         "replace an aromatic or alkene CH by N"),
        ((("C C C H", [(0, 1, ":"), (0, 2, ":"), (0, 3)]), ("C C C F", [(0, 1, ":"), (0, 2, ":"), (0, 3)]), {0: 0, 1: 1, 2: 2}, (0,)),
         "attach –F to an aromatic CH"),
        ((("C O N Cl", [(0, 1, "="), (0, 2), (0, 3)]), ("C O N H", [(0, 1, "="), (0, 2), (0, 3)]), {0: 0, 1: 1, 2: 2}, (0,)),
         "remove –Cl from a carbon bound to N and =O"),
        ((("C N H H H", [(0, 1), (0, 2), (0, 3), (0, 4)]), ("C N H H Br", [(0, 1), (0, 2), (0, 3), (0, 4)]), {0: 0, 1: 1, 2: 2, 3: 3}, (0,)),
         "attach –Br to a CH3 bound to N"),
        ((("C O C H H", [(0, 1), (0, 2), (1, 2), (0, 3), (0, 4)]), ("C O C H H H H", [(0, 2), (1, 2), (0, 3), (0, 4), (0, 5), (1, 6)]), {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}, (0, 1)),
         "cut a C–O single bond of an epoxide"),
        ((("N C O O", [(0, 1), (0, 2, "="), (0, 3)]), ("C C O O", [(0, 1), (0, 2, "="), (0, 3)]), {0: 0, 1: 1, 2: 2, 3: 3}, (0,)),
         "replace the nitrogen of a nitro group by carbon"),
        ((("C C C N H H", [(0, 1), (0, 2), (1, 3), (0, 4), (1, 5)]), ("C C C N", [(0, 1, "="), (0, 2), (1, 3)]), {0: 0, 1: 1, 2: 2, 3: 3}, (0, 1)),
         "turn the single bond between a CH (bound to C) and a CH (bound to N) into a double bond"),
    ],
)  # fmt: skip
def test_surroundings_of_molecules(parts: tuple[object, ...], sentence: str) -> None:
    assert molecule(*parts, radius=1).summary == sentence


@pytest.mark.parametrize(
    ("parts", "more", "sentence"),
    [
        ((("C", []), ("C O", [(0, 1)]), {0: 0}), {}, "attach hydroxy (–OH) to a carbon"),
        ((("C", []), ("C C", [(0, 1)]), {0: 0}), {}, "attach methyl (–CH3) to a carbon"),
        ((("C", []), ("C C F F F", CF3[1]), {0: 0}), {}, "attach trifluoromethyl (–CF3) to a carbon"),
        ((NITRO, ("C", []), {0: 0}), {}, "remove nitro (–NO2) from a carbon"),
        ((("N O", [(0, 1)]), ("N", []), {0: 0}), {}, "remove –O from a nitrogen"),
        ((("C C C", [(0, 1), (0, 2)]), ("O C C", [(0, 1), (0, 2)]), {0: 0, 1: 1, 2: 2}, (0,)), {"radius": 1},
         "replace a CH2 bound to 2 C by O"),
        # Elements and connections alone.
        ((("C", []), ("C O", [(0, 1)]), {0: 0}), {"labelled": False}, "attach an oxygen to a carbon"),
        ((("C O", [(0, 1)]), ("C N O O", [(0, 1), (1, 2), (1, 3)]), {0: 0}), {"labelled": False},
         "replace an oxygen on a carbon by nitro (NO2)"),
        ((("C C", [(0, 1)]), ("C C", []), {0: 0, 1: 1}), {"labelled": False}, "cut a C–C bond"),
    ],
)  # fmt: skip
def test_molecules_without_hydrogens(parts: tuple[object, ...], more: dict[str, object], sentence: str) -> None:
    assert molecule(*parts, names=HEAVY, **more).summary == sentence


@pytest.mark.parametrize(
    ("parts", "more", "sentence"),
    [
        ((("helix", []), ("sheet", []), {0: 0}), {}, "relabel a helix to sheet"),
        ((("helix helix helix helix", [(0, 1), (0, 2), (0, 3)]), ("sheet helix helix helix", [(0, 1), (0, 2), (0, 3)]), {k: k for k in range(4)}, (0,)),
         {"radius": 1}, "relabel a helix among three helices to sheet"),
        ((("helix", []), ("helix sheet", [(0, 1)]), {0: 0}), {}, "attach a sheet to a helix"),
        ((("helix turn", [(0, 1)]), ("helix turn sheet", [(0, 1), (0, 2)]), {0: 0, 1: 1}, (0,)), {"radius": 1},
         "attach a sheet to a helix beside a turn"),
        ((("helix", []), ("helix sheet turn", [(0, 1), (1, 2)]), {0: 0}), {}, "attach a chain sheet–turn to a helix"),
        ((("helix", []), ("helix sheet sheet sheet", [(0, 1), (1, 2), (2, 3), (1, 3)]), {0: 0}), {}, "attach a ring of three sheets to a helix"),
        ((("helix", []), ("helix sheet sheet", [(0, 1), (0, 2)]), {0: 0}), {}, "attach two sheets to a helix"),
        ((("helix turn", [(0, 1)]), ("helix", []), {0: 0}), {}, "remove a turn from a helix"),
        ((("helix sheet", []), ("helix sheet", [(0, 1)]), {0: 0, 1: 1}), {}, "join a helix and a sheet"),
        ((("helix helix", [(0, 1)]), ("helix helix", []), {0: 0, 1: 1}), {}, "cut the edge between two helices"),
        ((("helix helix", []), ("sheet sheet", []), {0: 0, 1: 1}), {}, "relabel a helix to sheet, twice"),
        ((("helix helix", []), ("sheet helix turn", [(1, 2)]), {0: 0, 1: 1}), {}, "relabel a helix to sheet and attach a turn to a helix"),
        ((("helix", []), ("sheet turn", [(0, 1)]), {0: 0}), {}, "relabel a helix to sheet and attach a turn to it"),
        ((("actor", []), ("actor actor", [(0, 1)]), {0: 0}), {"names": ("actor",)}, "attach an actor to an actor"),
        ((("actor actor", [(0, 1)]), ("actor actor", []), {0: 0, 1: 1}), {"names": ("actor",)}, "cut the edge between two actors"),
        ((("3", []), ("7", []), {0: 0}), {"names": ("3", "7")}, "relabel a node of label 3 to 7"),
        ((("helix", []), ("helix", []), {0: 0}), {}, "change nothing"),
    ],
)  # fmt: skip
def test_other_graphs(parts: tuple[object, ...], more: dict[str, object], sentence: str) -> None:
    assert fold(*parts, **more).summary == sentence  # type: ignore[arg-type]


def test_edge_labels_of_other_graphs() -> None:
    joined = Rule(Pattern((0, 0), (), ()), Pattern((0, 0), ((0, 1),), (1,)), ((0, 0), (1, 1)), (False, False))
    other = Rule(Pattern((0, 0), ((0, 1),), (0,)), Pattern((0, 0), ((0, 1),), (1,)), ((0, 0), (1, 1)), (False, False))
    kinds = ("friend", "enemy")
    assert describe_rule(joined, Schema(("person",), kinds)).summary == "join two persons by an enemy edge"
    assert describe_rule(other, Schema(("person",), kinds)).summary == (
        "turn the edge between two persons into an enemy edge"
    )


def test_places_tell_aromatic_atoms_from_alkenes() -> None:
    pytest.importorskip("rdkit")
    bonds: list[Bond] = [*RING, (0, 3)]
    found = rule(HEAVY, ("C C C", RING), ("C C C F", bonds), {0: 0, 1: 1, 2: 2}, (0,), radius=1)
    benzene = Graph([0] * 6, [(k, (k + 1) % 6) for k in range(6)], [1, 0, 1, 0, 1, 0])
    butene = Graph([0] * 4, [(0, 1), (1, 2), (2, 3)], [0, 1, 0])

    def said(*places: tuple[Graph, Site]) -> Words:
        return describe_rule(found, Schema(HEAVY, BOND_NAMES, is_molecular=True), places=places)

    aromatic, alkene = (benzene, (0, 1, 5)), (butene, (1, 2, 0))
    assert said(aromatic).summary == "attach –F to an aromatic CH"
    assert "It is aromatic in every molecule covered." in said(aromatic).description
    assert said(aromatic, alkene).summary == said().summary == "attach –F to an aromatic or alkene CH"


def test_places_tell_which_group_is_changed() -> None:
    found = rule(HEAVY, ("N", []), ("C", []), {0: 0})
    nitro = Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)], [0, 1, 0])
    amine = Graph([0, 1], [(0, 1)], [0])
    for places, sentence in (
        ([nitro, nitro, amine], "It changes a nitro group in 2 of the 3 molecules covered."),
        ([nitro, amine, amine], ""),
    ):
        said = describe_rule(
            found, Schema(HEAVY, BOND_NAMES, is_molecular=True), places=[(graph, (1,)) for graph in places]
        )
        assert said.summary == "replace a nitrogen by carbon"
        assert ("It changes" in said.description) == bool(sentence)
        assert sentence in said.description


def test_groups_that_all_places_have_are_named() -> None:
    found = rule(HEAVY, ("N O", [(0, 1, "=")]), ("N", []), {0: 0}, (1,))
    nitro = Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)], [0, 1, 0])
    nitrosamine = Graph([0, 1, 0, 1, 2], [(0, 1), (1, 2), (1, 3), (3, 4)], [0, 0, 0, 1])
    nitroso = Graph([0, 1, 2], [(0, 1), (1, 2)], [0, 1])
    at = {id(nitro): (1, 2), id(nitrosamine): (3, 4), id(nitroso): (1, 2)}

    def said(*graphs: Graph) -> str:
        places = [(graph, at[id(graph)]) for graph in graphs]
        return describe_rule(found, Schema(HEAVY, BOND_NAMES, is_molecular=True), places=places).summary

    plain = "remove oxo (=O) from a nitrogen"
    assert said(*[nitro] * 5) == f"{plain} of a nitro group"
    assert said(*[nitro] * 3, *[nitrosamine] * 3) == f"{plain} of a nitro group or a nitrosamine"
    assert said(*[nitro] * 4) == said(*[nitro] * 5, nitroso) == plain


def test_the_description_says_more() -> None:
    assert molecule(NITRO, CF3, {0: 0, 1: 1, 2: 2, 3: 3}, (1, 2, 3)).description == (
        "Replace a nitro group (–NO2) on a carbon by a trifluoromethyl group (–CF3). It applies wherever these atoms occur, "
        "whatever else they are bound to. Everything else stays as it is. Cost: 6 (nodes and edges added, removed or relabelled)."
    )
    around = ("C C C H", [*RING, (0, 3)]), ("C C C F", [*RING, (0, 3)]), {0: 0, 1: 1, 2: 2}, (0,)
    assert (
        "The CH must otherwise be bound to exactly C and =C. Hydrogens are added or dropped"
        in molecule(*around, radius=1).description
    )


def test_summaries_are_short() -> None:
    carbons = " ".join(["C H"] * 3)
    bonds: list[Bond] = [(0, 1), (2, 3), (4, 5)]
    chain = "C H H C H H C H H C H H N"
    after = " ".join(["C", chain, "C", chain, "C", chain.replace("N", "O")])
    new: list[Bond] = []
    for start in (0, 14, 28):
        new += [(start + a, start + b) for a, b in [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5), (4, 6), (4, 7), (7, 8), (7, 9), (7, 10), (10, 11), (10, 12), (10, 13)]]  # fmt: skip
    found = molecule((carbons, bonds), (after, new), {0: 0, 2: 14, 4: 28}).summary
    assert len(found) <= LONGEST_SUMMARY
    assert found == "attach –CH2–CH2–CH2–CH2–N to a carbon, twice, and attach –CH2–CH2–CH2–CH2–O to a carbon"


def test_a_bond_of_a_hydrogen_can_be_told() -> None:
    words = molecule(("C H C", [(0, 1)]), ("C H C", [(0, 1), (1, 2)]), {0: 0, 1: 1, 2: 2}, (1,), radius=1)
    assert "hydrogen" in words.summary


def opened_epoxide(num_further: int) -> Rule:
    """Cuts the bond between the oxygen of an epoxide and a carbon with so many other neighbours."""
    labels = " ".join(["C O C", *["C"] * num_further])
    kept: list[Bond] = [(0, 2), (1, 2), *((0, 3 + k) for k in range(num_further))]
    return rule(
        HEAVY, (labels, [(0, 1), *kept]), (labels, kept), {k: k for k in range(3 + num_further)}, (0, 1), radius=1
    )


def test_rules_of_one_sentence_are_told_apart_by_their_surroundings() -> None:
    anywhere = rule(HEAVY, ("C O C", [(0, 1), (0, 2), (1, 2)]), ("C O C", [(0, 2), (1, 2)]), {0: 0, 1: 1, 2: 2})
    rules = [opened_epoxide(1), opened_epoxide(2), anywhere]
    alone = [describe_rule(it, Schema(HEAVY, BOND_NAMES, is_molecular=True)).summary for it in rules]
    together = describe_rules([RuleAt(it) for it in rules], Schema(HEAVY, BOND_NAMES, is_molecular=True))
    plain = "cut a C–O single bond of an epoxide"
    assert alone == [plain] * 3
    assert [words.summary for words in together] == [
        f"{plain}, where the CH is bound to 2 C and the oxygen is bound to C",
        f"{plain}, where the carbon is bound to 3 C and the oxygen is bound to C",
        f"{plain}, whatever surrounds it",
    ]
    two = describe_rules([RuleAt(it) for it in rules[:2]], Schema(HEAVY, BOND_NAMES, is_molecular=True))
    assert [words.summary for words in two] == [
        f"{plain}, where the CH is bound to 2 C",
        f"{plain}, where the carbon is bound to 3 C",
    ]


def test_a_sentence_that_another_rule_has_is_not_used_again() -> None:
    found = [RuleAt(opened_epoxide(1))]
    plain = describe_rules(found, Schema(HEAVY, BOND_NAMES, is_molecular=True))[0].summary
    (words,) = describe_rules(found, Schema(HEAVY, BOND_NAMES, is_molecular=True), taken={plain})
    assert words.summary.startswith(plain)
    assert words.summary != plain


def test_rules_of_other_graphs_are_told_apart() -> None:
    star = [(0, 1), (0, 2)]
    first, second = (
        rule(
            FOLDS, (f"helix {ends}", star), (f"sheet {ends}", star), {0: 0, 1: 1, 2: 2}, (0,), radius=1, labelled=False
        )
        for ends in ("helix helix", "helix turn")
    )
    one, other = (words.summary for words in describe_rules([RuleAt(first), RuleAt(second)], Schema(FOLDS)))
    assert (one, other) == (
        "relabel a helix among two helices to sheet",
        "relabel a helix among a helix and a turn to sheet",
    )


def test_what_cannot_be_said_is_written() -> None:
    lines = make_distinct(["relabel a helix"] * 2, [["the helix is among two helices"]] * 2, ["[a]>>[b]", "[a]>>[c]"])
    assert lines == ["relabel a helix: [a]>>[b]", "relabel a helix: [a]>>[c]"]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((("N N O", [(0, 1), (1, 2, "=")]), ("N C", [(0, 1)]), {0: 0}),
         "replace nitroso (–N=O) on a nitrogen (nitrosamine) by methyl (–CH3)"),
        ((("C N C N O", [(0, 1), (1, 2), (1, 3), (3, 4, "=")]), ("C C", [(0, 1)]), {0: 0}),
         "replace N-nitrosomethylamino (–N(CH3)–N=O, a nitrosamine) on a carbon by methyl (–CH3)"),
        ((("C C C O", [(0, 1), (1, 2), (1, 3), (2, 3)]), ("C C", [(0, 1)]), {0: 0}),
         "replace oxiranyl (–C2H3O, an epoxide) on a carbon by methyl (–CH3)"),
        ((("C C N O O", [(0, 1), (1, 2), (2, 3, "="), (2, 4)]), ("C C", [(0, 1)]), {0: 0}),
         "replace nitromethyl (–CH2–NO2) on a carbon by methyl (–CH3)"),
        ((("C C C N O O", [(0, 1), (1, 2), (1, 3), (3, 4, "="), (3, 5)]), ("C C", [(0, 1)]), {0: 0}),
         "replace –CH(CH3)–NO2 (a nitro group) on a carbon by methyl (–CH3)"),
    ],
)  # fmt: skip
def test_toxic_groups_are_not_hidden_in_formulas(parts: tuple[object, ...], sentence: str) -> None:
    assert molecule(*parts, names=HEAVY).summary == sentence


def test_rings_are_named_or_written() -> None:
    pytest.importorskip("rdkit")
    ring: list[Bond] = [(0, 1, "="), (1, 2), (2, 3, "="), (3, 4), (4, 5, "="), (0, 5)]

    def attached(chain: str, *links: Bond) -> str:
        atoms = ["C", *["C"] * 6, *chain.split()]
        bonds = [(bond[0] + 1, bond[1] + 1, *bond[2:]) for bond in ring]
        return molecule(("C", []), (" ".join(atoms), [*bonds, *links]), {0: 0}, names=HEAVY).summary

    assert attached("F", (0, 1), (4, 7)) == "attach 4-fluorophenyl (–C6H4F) to a carbon"
    assert attached("N C F", (0, 7), (7, 8), (1, 7), (4, 9)) == "attach –N(CH3)–4-fluorophenyl to a carbon"
    assert attached("Br S", (0, 1), (4, 7), (5, 8)) == "attach –c1ccc(Br)c(S)c1 to a carbon"


def test_neighbours_of_neighbours_are_named_where_they_are_known() -> None:
    bonds: list[Bond] = [(0, 1), (0, 2), (1, 3), (2, 4), (2, 5)]
    known = {k: k for k in range(6)}
    swap = (("C C C C O C N", [*bonds, (0, 6)]), ("C C C C O C F", [*bonds, (0, 6)]), known, (0, 1, 2))
    found = rule(HEAVY, *swap, radius=2)
    words = describe_rule(found, Schema(HEAVY, BOND_NAMES, is_molecular=True))
    assert words.summary == "replace amino (–NH2) on a CH bound to CH2 and CH–O by –F"


def test_rings_that_all_places_have_are_named() -> None:
    def ring(size: int) -> Graph:
        """A ring with a tail."""
        return Graph([0] * (size + 1), [(i, (i + 1) % size) for i in range(size)] + [(0, size)])

    def said(rule: Rule, places: Sequence[tuple[Graph, Site]]) -> str:
        return describe_rules([RuleAt(rule, places)], Schema(("node",)))[0].summary

    two = Pattern((0, 0), ((0, 1),), None)
    apart = Pattern((0, 0), (), None)
    cut = Rule(two, apart, ((0, 0), (1, 1)), (False, False))
    join = Rule(apart, two, ((0, 0), (1, 1)), (False, False))
    assert "5-cycle in all 3 graphs" in said(cut, [(ring(5), (0, 1)), (ring(5), (2, 1)), (ring(5), (0, 4))])
    assert "triangle" in said(cut, [(ring(3), (0, 1))] * 3)
    assert "bridge" in said(cut, [(ring(5), (0, 5))] * 3)
    assert "closes a 4-cycle" in said(join, [(ring(6), (0, 3))] * 3)
    grown = Rule(Pattern((0,), (), None), two, ((0, 0),), (False,))
    assert "a node of a 5-cycle in all 3 graphs" in said(grown, [(ring(5), (node,)) for node in (0, 2, 4)])
    assert "cycle" not in said(grown, [(ring(5), (node,)) for node in (0, 2, 5)])  # the tail is no part of it
    for mixed in ([(ring(5), (0, 1)), (ring(4), (0, 1)), (ring(5), (0, 1))], [(ring(5), (0, 1))] * 2):
        assert "cycle" not in said(cut, mixed)  # several kinds, or too few places to tell
