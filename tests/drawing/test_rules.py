"""Pictures of rules: well-formed, every change marked once, nothing of a name gets out of its place."""

from __future__ import annotations

import math
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


def test_every_change_is_marked() -> None:
    svg = draw_rule(NITRO, Schema(ATOMS, BOND_NAMES, is_molecular=True), title="nitro to CF3")
    found = classes(svg)
    assert found.count("halo other") == 2 * 3  # N, O, O before and C, F, F after
    assert found.count("halo come") == 1
    assert found.count("halo gone") == 0
    assert found.count("gone") == 1  # the double bond
    assert found.count("arrow") == 1
    assert [text.text for text in parse(svg).iter(f"{SVG}text")] == list("CNOOCCFFF")
    assert parse(svg).get("aria-label") == "nitro to CF3"


def test_only_open_nodes_have_dotted_lines() -> None:
    opened = draw_rule(NITRO, Schema(ATOMS, BOND_NAMES, is_molecular=True))
    closed = Rule(NITRO.before, NITRO.after, NITRO.kept, (True,) * 4)
    assert classes(opened).count("open") == 2  # on either side
    assert "open" not in classes(draw_rule(closed, Schema(ATOMS, BOND_NAMES, is_molecular=True)))


def test_what_stays_has_one_place_on_each_side() -> None:
    groups = [
        group
        for group in parse(draw_rule(NITRO, Schema(ATOMS, BOND_NAMES, is_molecular=True)))
        if group.tag == f"{SVG}g"
    ]
    before, after = ([(text.get("x"), text.get("y")) for text in group.iter(f"{SVG}text")] for group in groups)
    assert before == after[:4]
    places = [(float(x or math.nan), float(y or math.nan)) for x, y in after]
    assert min(math.dist(one, other) for k, one in enumerate(places) for other in places[:k]) > 20


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
    texts = [text.text for text in parse(svg).iter(f"{SVG}text")]
    assert texts == ["C", "N", "C", "N⁺"]
