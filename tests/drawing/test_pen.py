from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from comrecgc.drawing import Pen
from comrecgc.graphs import Edit, EditKind, Graph, Schema
from comrecgc.molecules import BOND_NAMES
from comrecgc.molecules.smiles import from_smiles

ELEMENTS = ("C", "N", "O")
SVG = "{http://www.w3.org/2000/svg}"
NITRO = "c1ccccc1[N+](=O)[O-]"
REMOVE_NITRO = (Edit(EditKind.REMOVE_NODE, 7), Edit(EditKind.REMOVE_NODE, 8), Edit(EditKind.REMOVE_NODE, 6))
HOSTILE = ("<script>alert(1)</script>", '" onload="alert(1)', "&amp;", "שלום", "𝔾" * 300)


def marked(svg: str, mark: str) -> list[ET.Element]:
    return [part for part in ET.fromstring(svg).iter() if mark in part.get("class", "").split()]


@pytest.fixture
def pen() -> Pen:
    pytest.importorskip("rdkit")
    return Pen(Schema(ELEMENTS, BOND_NAMES, is_molecular=True))


def test_what_goes_is_marked_before_and_gone_after(pen: Pen) -> None:
    picture = pen.draw(from_smiles(NITRO, ELEMENTS), REMOVE_NITRO, "Input 1")
    texts = [part.text for part in marked(picture.before, "gone") if part.tag == f"{SVG}text"]
    assert sorted(text or "" for text in texts) == ["N", "O", "O"]
    assert len([part for part in marked(picture.before, "halo") if part.tag == f"{SVG}circle"]) == 3
    assert not marked(picture.after, "gone")
    assert not marked(picture.after, "halo")
    assert not marked(picture.before, "come")
    assert 'aria-label="Input 1 before"' in picture.before


def test_what_comes_and_what_changes_is_marked(pen: Pen) -> None:
    edits = (Edit(EditKind.RELABEL, 0, 1), Edit(EditKind.ADD_NODE, 2, 2), Edit(EditKind.ADD_EDGE, 0, 3))
    picture = pen.draw(from_smiles("c1ccccc1", ELEMENTS), edits)
    assert [part.text for part in marked(picture.before, "other") if part.tag == f"{SVG}text"] == ["C"]
    assert [part.text for part in marked(picture.after, "other") if part.tag == f"{SVG}text"] == ["N"]
    assert [part.text for part in marked(picture.after, "come") if part.tag == f"{SVG}text"] == ["OH"]
    (joined,) = (part for part in marked(picture.after, "come") if part.tag == f"{SVG}path")
    assert joined.get("d", "").count("M") == 2
    assert not marked(picture.before, "come")


def test_both_sides_share_one_frame_and_all_unchanged_places(pen: Pen) -> None:
    picture = pen.draw(from_smiles("CCOCCN", ELEMENTS), (Edit(EditKind.RELABEL, 0, 1),))
    before, after = (ET.fromstring(svg) for svg in (picture.before, picture.after))
    assert before.get("viewBox") == after.get("viewBox")
    places = [
        {(part.text, part.get("x"), part.get("y")) for part in side.iter(f"{SVG}text") if part.get("class") is None}
        for side in (before, after)
    ]
    assert places[0] == places[1]
    assert {text for text, _, _ in places[0]} == {"O", "NH₂"}


def test_bonds_are_drawn_by_their_order(pen: Pen) -> None:
    strokes = [pen.draw(from_smiles(smiles, ELEMENTS), ()).before.count("M") for smiles in ("CC", "C=C", "C#C", "C=CC")]
    assert strokes == [1, 2, 3, 3]
    aromatic = ET.fromstring(pen.draw(from_smiles("c1ccccc1", ELEMENTS), ()).before)
    dashed = [part for part in aromatic.iter(f"{SVG}path") if part.get("class") == "dash"]
    assert [part.get("d", "").count("M") for part in dashed] == [6]


def test_other_graphs_are_circles_with_tips() -> None:
    picture = Pen(Schema(("helix", "sheet"))).draw(Graph([0, 1], [[0, 1]]), (Edit(EditKind.REMOVE_NODE, 1),))
    before = ET.fromstring(picture.before)
    assert [part.text for part in before.iter(f"{SVG}title")] == ["helix", "sheet"]
    assert [part.text for part in before.iter(f"{SVG}text")] == ["he", "sh"]
    assert len(list(ET.fromstring(picture.after).iter(f"{SVG}g"))) == 1


@pytest.mark.parametrize("is_molecular", [False, True])
def test_hostile_names_stay_text(is_molecular: bool) -> None:
    labels = list(range(len(HOSTILE)))
    edges = [[i, i + 1] for i in labels[:-1]]
    pen = Pen(Schema(HOSTILE, HOSTILE, is_molecular=is_molecular))
    picture = pen.draw(Graph(labels, edges, labels[:-1]), (Edit(EditKind.RELABEL, 0, 3),), title=HOSTILE[1])
    for svg in (picture.before, picture.after):
        tree = ET.fromstring(svg)
        tags = {part.tag.removeprefix(SVG) for part in tree.iter()}
        assert tags <= {"svg", "path", "g", "circle", "rect", "text", "title"}
        assert not [name for part in tree.iter() for name in part.attrib if name.startswith("on")]
        assert len(svg) < 6000


def test_of_a_large_graph_only_the_surroundings_of_the_change_are_drawn() -> None:
    n = 400
    chain = Graph(np.zeros(n, dtype=int), [[i, i + 1] for i in range(n - 1)])
    picture = Pen(Schema(("a", "b"))).draw(chain, (Edit(EditKind.RELABEL, 200, 1),))
    drawn = len(list(ET.fromstring(picture.before).iter(f"{SVG}g")))
    assert picture.num_hidden == n - drawn
    assert 40 < drawn <= 70
    assert len(marked(picture.before, "halo")) == 1


def test_pictures_are_small_and_always_the_same(pen: Pen) -> None:
    graph = from_smiles("c1ccc2c(c1)ccc1c2cccc1CCN(C)C(=O)CCCO", ELEMENTS)
    one, other = pen.draw(graph, (Edit(EditKind.RELABEL, 0, 1),)), pen.draw(graph, (Edit(EditKind.RELABEL, 0, 1),))
    assert one == other
    assert len(one.before) < 2500
    assert not re.search(r"\d\.\d\d", one.before)


def test_a_graph_of_one_node() -> None:
    picture = Pen(Schema(("a",))).draw(Graph([0], []), ())
    assert ET.fromstring(picture.before).get("viewBox") == "-16 -16 32 32"
