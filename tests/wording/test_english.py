from __future__ import annotations

import pytest

from comrecgc.graphs import Edit, EditKind, Graph, Schema
from comrecgc.molecules import BOND_NAMES
from comrecgc.molecules.smiles import from_smiles
from comrecgc.wording import describe_path, describe_recourse, edit_pattern, representatives
from comrecgc.wording.english import EditPattern

ELEMENTS = ("C", "N", "O", "H")
C, N, O, H = range(4)
RELABEL, ADD, REMOVE, JOIN, CUT = EditKind


def pattern(smiles: str, *edits: Edit) -> EditPattern:
    pytest.importorskip("rdkit")
    graph = from_smiles(smiles, ELEMENTS)
    return edit_pattern(graph, edits, Schema(ELEMENTS, BOND_NAMES, is_molecular=True))


@pytest.mark.parametrize(
    ("smiles", "edits", "text"),
    [
        ("c1ccccc1[N+](=O)[O-]", [Edit(REMOVE, 7), Edit(REMOVE, 8), Edit(REMOVE, 6)], "remove N and 2 O (nitro) from an aromatic C"),
        ("c1ccccc1[N+](=O)[O-]", [Edit(REMOVE, 7), Edit(REMOVE, 8)], "remove 2 O (of a nitro) from a nitro N"),
        ("c1ccccc1[N+](=O)[O-]", [Edit(RELABEL, 6, C)], "relabel nitro N to C, making a carboxyl"),
        ("CC1OC1", [Edit(CUT, 1, 2)], "cut C–O of an epoxide"),
        ("CC1OC1", [Edit(CUT, 1, 2), Edit(REMOVE, 2)], "remove O (of an epoxide) from an epoxide C and an epoxide C"),
        ("CN(C)N=O", [Edit(REMOVE, 4), Edit(REMOVE, 3)], "remove N and O (nitroso) from a nitrosamine N"),
        ("C1CCCC1", [Edit(RELABEL, 0, O)], "relabel ring C to O"),
        ("C1CCCC1", [Edit(CUT, 0, 1)], "cut C–C in a ring"),
        ("CCCCCN", [Edit(JOIN, 0, 4)], "join C–methyl C into a 5-ring"),
        ("CCO", [Edit(ADD, 0, O)], "add O (hydroxyl) to a methyl C"),
        ("CCC", [Edit(ADD, 0, H), Edit(ADD, 0, H)], "add 2 H to a methyl C"),
        ("CCC", [Edit(ADD, -1, N)], "add N"),
        ("CCC", [], "change nothing"),
        ("CCC", [Edit(RELABEL, 1, N), Edit(RELABEL, 1, C)], "change nothing"),
        ("CCCC", [Edit(RELABEL, 1, N), Edit(RELABEL, 2, N)], "2 × relabel C to N"),
    ],
)  # fmt: skip
def test_one_graph_in_words(smiles: str, edits: list[Edit], text: str) -> None:
    assert pattern(smiles, *edits).text == text


def test_other_graphs_have_no_chemistry() -> None:
    graph = Graph([0, 1, 0], [[0, 1], [1, 2], [0, 2]])
    edits = (Edit(RELABEL, 0, 1), Edit(CUT, 1, 2), Edit(ADD, 2, 0))
    found = edit_pattern(graph, edits, Schema(("helix", "N")))
    assert found.steps == ("relabel helix to N", "add helix to a helix", "cut N–helix")
    assert edit_pattern(Graph([0, 0], [[0, 1]]), (Edit(CUT, 0, 1),), Schema(("",))).text == "cut node–node"


def test_long_and_odd_names_are_clipped() -> None:
    found = edit_pattern(Graph([0, 1], [[0, 1]]), (Edit(RELABEL, 0, 1),), Schema(("x" * 500, "a\nb")))
    assert found.text == f"relabel {'x' * 23}… to a b"


def members(*smiles_and_edits: tuple[str, tuple[Edit, ...]]) -> list[tuple[Graph, tuple[Edit, ...]]]:
    pytest.importorskip("rdkit")
    return [(from_smiles(smiles, ELEMENTS), edits) for smiles, edits in smiles_and_edits]


def words_of(*smiles_and_edits: tuple[str, tuple[Edit, ...]]) -> tuple[str, str]:
    words = describe_recourse(members(*smiles_and_edits), Schema(ELEMENTS, BOND_NAMES, is_molecular=True))
    return words.summary, words.description


PHENOL = ("c1ccccc1O", (Edit(REMOVE, 6),))
ETHANOL = ("CCO", (Edit(REMOVE, 2),))
ETHYLAMINE = ("CCN", (Edit(RELABEL, 2, O),))


def test_a_recourse_all_members_share() -> None:
    summary, description = words_of(PHENOL, PHENOL)
    assert summary == "remove O (hydroxyl) from an aromatic C"
    assert description == "All 2 graphs: remove O (hydroxyl) from an aromatic C. Edits: 1."


def test_the_share_that_follows_is_told() -> None:
    summary, description = words_of(PHENOL, PHENOL, PHENOL, ETHYLAMINE)
    assert summary == "remove O (hydroxyl) from an aromatic C (75% of 4)"
    assert description.startswith("remove O (hydroxyl) from an aromatic C: 3 of 4 (75%); relabel amine N to O")


def test_context_is_left_out_where_members_differ_in_it() -> None:
    summary, _ = words_of(PHENOL, ETHANOL)
    assert summary == "remove O (hydroxyl)"


def test_without_a_common_pattern_the_commonest_step_is_told() -> None:
    many = [
        ("C" * 12, (Edit(RELABEL, 0, O), *(Edit(ADD, node, N) for node in range(1, place)))) for place in range(1, 12)
    ]
    summary, description = words_of(*many)
    assert summary == "often relabel C to O"
    assert description.startswith("11 patterns in 11 graphs, by single steps: relabel C to O: 11 of 11 (100%)")


def test_no_members() -> None:
    assert describe_recourse([], Schema(ELEMENTS)).summary == "covers no input"


def test_words_do_not_depend_on_the_order_of_members() -> None:
    assert words_of(PHENOL, ETHANOL, ETHYLAMINE) == words_of(ETHYLAMINE, PHENOL, ETHANOL)


def test_representatives_are_small_and_diverse() -> None:
    patterns = ["a", "a", "a", "b", "c", "a"]
    sizes = [9, 3, 5, 7, 1, 4]
    assert representatives(patterns, sizes, 4) == [1, 4, 3, 5]
    assert representatives(patterns, sizes, 1) == [1]
    assert representatives(["a"], [1], 4) == [0]
    assert representatives([], [], 4) == []


def test_every_edit_of_a_path_in_words() -> None:
    nitro = Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)])
    path = [
        Edit(EditKind.REMOVE_NODE, 2),
        Edit(EditKind.REMOVE_NODE, 3),
        Edit(EditKind.REMOVE_NODE, 1),
        Edit(EditKind.ADD_NODE, 0, 2),
        Edit(EditKind.RELABEL, 4, 1),
    ]
    assert describe_path(nitro, path, ["C", "N", "O"]) == [
        "remove O 2",
        "remove O 3",
        "remove N 1",
        "tie a new O to C 0",
        "relabel O 4 to N",
    ]
    ring = [Edit(EditKind.ADD_EDGE, 2, 3), Edit(EditKind.REMOVE_EDGE, 0, 1)]
    assert describe_path(nitro, ring, ["C", "N", "O"]) == ["join O 2 and O 3", "cut C 0 from N 1"]
