"""Pictures of rules: well-formed, every change marked once, nothing of a name gets out of its place."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from comrecgc.drawing import draw_rule
from comrecgc.graphs import Pattern, Rule, Schema
from comrecgc.molecules import BOND_NAMES

SVG = "{http://www.w3.org/2000/svg}"
ATOMS = ("C", "N", "O", "F", "H")
# A nitro group becomes CF3: N becomes C, each O becomes F, another F comes.
NITRO = Rule(
    Pattern((0, 1, 2, 2), ((0, 1), (1, 2), (1, 3)), (0, 1, 0)),
    Pattern((0, 0, 3, 3, 3), ((0, 1), (1, 2), (1, 3), (1, 4)), (0, 0, 0, 0)),
    ((0, 0), (1, 1), (2, 2), (3, 3)),
    (False, True, True, True),
)
JOIN = Rule(Pattern((0, 1), (), None), Pattern((0, 1), ((0, 1),), None), ((0, 0), (1, 1)), (False, False))


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # ours, no hostile entities in it


def classes(svg: str) -> list[str]:
    return [element.get("class") or "" for element in parse(svg).iter()]


def texts_of(svg: str) -> list[tuple[str, str]]:
    return [(text.text or "", text.get("class") or "") for text in parse(svg).iter(f"{SVG}text")]


def test_the_whole_group_that_leaves_goes_and_the_whole_that_enters_comes() -> None:
    svg = draw_rule(NITRO, Schema(ATOMS, BOND_NAMES, is_molecular=True), title="nitro to CF3")
    before, after = [("N", "gone"), ("O", "gone"), ("O", "gone")], [("F", "come")] * 3
    assert texts_of(svg) == [("R", "rest"), *before, ("R", "rest"), *after]  # the new carbon is a corner
    found = classes(svg)
    assert not [name for name in found if "halo" in name or "other" in name]
    assert found.count("arrow") == 1
    assert parse(svg).get("aria-label") == "nitro to CF3"


def test_atoms_that_are_alike_in_both_groups_go_and_come_too() -> None:
    """From nitro to carboxy both oxygens stay: a chemist sees one group for another."""
    acid = Pattern((0, 0, 2, 2, 4), ((0, 1), (1, 2), (1, 3), (3, 4)), (0, 1, 0, 0))
    rule = Rule(NITRO.before, acid, ((0, 0), (1, 1), (2, 2), (3, 3)), NITRO.closed)
    texts = texts_of(draw_rule(rule, Schema(ATOMS, BOND_NAMES, is_molecular=True)))
    assert texts[:4] == [("R", "rest"), ("N", "gone"), ("O", "gone"), ("O", "gone")]
    assert sorted(text.translate(str.maketrans("", "", " ")) for text, _ in texts[5:]) in (["HO", "O"], ["O", "OH"])
    assert all("come" in style for _, style in texts[5:])


def test_an_aromatic_ring_is_one_word_and_hydrogens_that_are_no_nodes_are_written() -> None:
    ring = ((0, 1), (0, 2))
    to_bromo = Rule(Pattern((0, 0, 0), ring, (3, 3)), Pattern((0, 0, 0, 1), (*ring, (0, 3)), (3, 3, 0)), ((0, 0), (1, 1), (2, 2)), (True, False, False))  # fmt: skip
    svg = draw_rule(to_bromo, Schema(("C", "Br"), BOND_NAMES, is_molecular=True))
    assert texts_of(svg) == [("Ar–H", "rest"), ("Ar", "rest"), ("Br", "come")]


def test_changes_at_two_places_have_a_plus_between_them() -> None:
    twice = Rule(Pattern((0, 1, 0, 2), ((0, 1), (2, 3)), (0, 0)), Pattern((0, 2, 0, 1), ((0, 1), (2, 3)), (0, 0)), ((0, 0), (2, 2)), (False, True, False, True))  # fmt: skip
    svg = draw_rule(twice, Schema(ATOMS, BOND_NAMES, is_molecular=True))
    assert classes(svg).count("plus") == 1
    assert classes(svg).count("arrow") == 2


def test_only_open_nodes_have_dotted_lines() -> None:
    relabel = Rule(Pattern((1,), (), ()), Pattern((0,), (), ()), ((0, 0),), (False,))
    closed = Rule(relabel.before, relabel.after, relabel.kept, (True,))
    assert (
        classes(draw_rule(relabel, Schema(ATOMS, BOND_NAMES, is_molecular=True))).count("open") == 2
    )  # on either side
    assert "open" not in classes(draw_rule(closed, Schema(ATOMS, BOND_NAMES, is_molecular=True)))


def test_other_graphs_carry_names_unless_there_is_one_label() -> None:
    svg = draw_rule(JOIN, Schema(("helix", "sheet")))
    assert [text.text for text in parse(svg).iter(f"{SVG}text")] == ["helix", "sheet"] * 2
    assert classes(svg).count("come") == 1
    actors = Rule(Pattern((0,), (), None), Pattern((0, 0), ((0, 1),), None), ((0, 0),), (False,))
    assert not list(parse(draw_rule(actors, Schema(("actor",)))).iter(f"{SVG}text"))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"b&c', "x" * 500, "", "\u202e", "two\nlines"])
def test_names_stay_in_their_place(name: str) -> None:
    svg = draw_rule(JOIN, Schema((name, "sheet")), title=name)
    assert {element.tag.removeprefix(SVG) for element in parse(svg).iter()} <= {
        "svg",
        "g",
        "path",
        "rect",
        "text",
        "title",
    }
    assert float(parse(svg).get("width") or 0) < 600


def test_a_file_of_its_own_has_styles() -> None:
    assert "<style>" in draw_rule(JOIN, Schema(("a", "b")), standalone=True)
    assert "<style>" not in draw_rule(JOIN, Schema(("a", "b")))
    assert "http" not in draw_rule(JOIN, Schema(("a", "b")), standalone=True).replace("http://www.w3.org/2000/svg", "")


def test_every_mined_shape_can_be_drawn() -> None:
    removal = Rule(Pattern((0, 1), ((0, 1),), None), Pattern((0,), (), None), ((0, 0),), (True, True))
    nothing = Rule(Pattern((0,), (), None), Pattern((0,), (), None), ((0, 0),), (False,))
    apart = Rule(
        Pattern((0, 0, 0), (), ()), Pattern((0, 0, 0, 1), ((0, 3),), (1,)), ((0, 0), (1, 1), (2, 2)), (False,) * 3
    )
    for rule in (removal, nothing, apart):
        parse(draw_rule(rule, Schema(("a", "b"))))
        parse(draw_rule(rule, Schema(("C", "O"), BOND_NAMES, is_molecular=True)))


def test_atoms_are_written_with_their_charge_and_never_in_lower_case() -> None:
    charged = Rule(Pattern((0, 1), ((0, 1),), (3,)), Pattern((0, 2), ((0, 1),), (3,)), ((0, 0), (1, 1)), (False, False))
    svg = draw_rule(charged, Schema(("c", "n", "N+"), BOND_NAMES, is_molecular=True))
    assert [text for text, _ in texts_of(svg)] == ["N", "N⁺"]
