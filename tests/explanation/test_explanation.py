"""An explanation as a record, as files, in notebooks and as PyG's own.

Also tests comrecgc.explanation.records, comrecgc.explanation.folder, comrecgc.explanation.display.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import comrecgc
from comrecgc.cover import Reason
from comrecgc.data import DatasetIndex
from comrecgc.errors import InputError
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation
from comrecgc.explanation.records import RejectedInput, RunFacts, Uncovered, same_graph
from comrecgc.graphs import Edit, EditKind, Graph, apply_path
from tests.explanations import FACTS, explain, planted_explanation, planted_rules, random_explanation, tiny_dataset

Spoil = Callable[[dict[str, Any]], object]

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'both'",
    "=HYPERLINK(1)",
    "x" * 5000,
    "שלום\u202e",
    "C\nC",
    "</script>\u2028",
)

RELABEL = Edit(EditKind.RELABEL, 3, 2)
TIE = Edit(EditKind.ADD_NODE, 0, 1)
CUT = Edit(EditKind.REMOVE_EDGE, 0, 1)
DROP = Edit(EditKind.REMOVE_NODE, 2)


@pytest.fixture
def tiny() -> Explanation:
    return explain(tiny_dataset(), [[(0, (RELABEL, TIE))], [(1, (DROP,))]])


def empty_explanation() -> Explanation:
    return explain(tiny_dataset(), [])


def rewritten(folder: Path, spoil: Spoil) -> None:
    """Change `explanation.json` and give it the checksum it then has."""
    path = folder / "explanation.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    spoil(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    rehash(folder)


def rehash(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["sha256"]["explanation.json"] = hashlib.sha256((folder / "explanation.json").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_the_json_is_what_the_documentation_says(tiny: Explanation) -> None:
    document = json.loads(tiny.to_json())
    assert document["format"] == 2
    assert (document["recourse"], document["changes"]) == ("vectors", "any")
    assert document["dataset"] == "tiny"
    assert document["coverage_curve"] == [1 / 3, 2 / 3]
    first, second = document["recourses"]
    assert first["gain"] == 1
    assert first["norm"] == pytest.approx(np.linalg.norm(first["vector"]), rel=1e-6)
    (member,) = first["covered"]
    assert member["input"] == 0
    assert member["edits"] == [["relabel", 3, "N"], ["add_node", 0, "O"]]
    assert member["counterfactual"]["labels"] == [0, 0, 0, 2, 1]
    assert member["counterfactual"]["edges"] == [[0, 1], [0, 2], [0, 4], [1, 2], [2, 3]]
    assert member["counterfactual"]["ids"] == [0, 1, 2, 3, 4]
    assert second["covered"][0]["edits"] == [["remove_node", 2]]
    assert document["uncovered"] == [{"input": 3, "reason": "time ran out before one was found"}]


@pytest.mark.parametrize(
    "make",
    [
        planted_explanation,
        empty_explanation,
        lambda: random_explanation(tiny_dataset(), 2),
        lambda: explain(tiny_dataset(("C", "C", "C")), [[(0, (RELABEL, TIE, CUT))]]),
        lambda: explain(tiny_dataset((*HOSTILE, "C", "C"), name=HOSTILE[0]), [[(0, (RELABEL, TIE))], [(1, (DROP,))]]),
    ],
)
def test_a_saved_explanation_comes_back_exactly(make: Callable[[], Explanation], tmp_path: Path) -> None:
    saved = make()
    saved.save(tmp_path)
    loaded = Explanation.load(tmp_path)
    assert loaded == saved
    assert loaded.facts == saved.facts
    assert loaded.to_json() == saved.to_json() == (tmp_path / "explanation.json").read_text(encoding="utf-8")
    for old, new in zip(saved.recourses, loaded.recourses, strict=True):
        for one, other in zip(old.covered, new.covered, strict=True):
            assert one.edits == other.edits
            assert same_graph(one.counterfactual, other.counterfactual)
            assert one.counterfactual.next_id == other.counterfactual.next_id
    for index, rejected in saved.inputs.items():
        assert same_graph(rejected.graph, loaded.inputs[index].graph)


def test_labels_of_one_name_are_told_apart_by_their_number() -> None:
    document = json.loads(explain(tiny_dataset(("C", "O", "C")), [[(0, (RELABEL, TIE))]]).to_json())
    assert document["recourses"][0]["covered"][0]["edits"] == [["relabel", 3, "C", 2], ["add_node", 0, "O"]]


def test_the_json_does_not_depend_on_the_run(tiny: Explanation) -> None:
    other = tiny.using(facts=RunFacts(seconds={"search": 1e6}, peak_memory=1))
    assert other.to_json() == tiny.to_json()
    assert other == tiny


def test_vectors_keep_every_bit_of_float32() -> None:
    values = np.random.default_rng(0).normal(size=64).astype(np.float32)
    recourse = CommonRecourse(vector=tuple(values.tolist()), summary="")
    assert np.array_equal(np.array(recourse.vector, dtype=np.float32), values)
    assert max(len(str(value)) for value in recourse.vector or ()) < 16
    assert recourse.norm == pytest.approx(float(np.linalg.norm(values)), rel=1e-6)


def test_what_was_given_is_neither_changed_nor_kept(tiny: Explanation) -> None:
    parameters = {"theta": np.float64(0.1), "folder": Path("run"), "heads": (1, 2)}
    other = replace(tiny, parameters=parameters)
    parameters["theta"] = np.float64(9)
    assert other.parameters == {"theta": 0.1, "folder": "run", "heads": [1, 2]}


def test_an_empty_explanation_is_valid(tmp_path: Path) -> None:
    empty = empty_explanation()
    assert empty.coverage == 0
    assert empty.coverage_curve == ()
    assert len(empty.to_frame()) == 0
    assert "0 common recourses" in empty._repr_html_()
    empty.save(tmp_path)
    assert (tmp_path / "coverage_curve.csv").read_text() == "recourses,coverage\n"


def test_the_table_of_rules_says_how_often_each_works(tmp_path: Path) -> None:
    rules = planted_rules(60)
    rules.save(tmp_path)
    with (tmp_path / "recourses.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, recourse in zip(rows, rules.recourses, strict=True):
        known = recourse.statistics
        assert [row[name] for name in ("applicable", "accepted", "confirmed", "cost")] == [
            str(known[name]) for name in ("applicable", "accepted", "confirmed", "cost")
        ]
        assert float(row["success"]) == known["success"]
        assert [float(row[name]) for name in ("success_low", "success_high")] == known["interval"]
        assert float(row["held_out_success"]) == known["held_out"]["success"]
        assert row["smirks"] == "[C:1][N](=[O])[O]>>[C:1][F]"
    assert "3 rules cover" in rules._repr_html_()
    assert rules.to_frame()["success"].tolist() == [it.statistics["success"] for it in rules.recourses]


def test_the_manifest_says_what_the_run_was(tiny: Explanation, tmp_path: Path) -> None:
    tiny.save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"] == tiny.parameters
    assert manifest["seed"] == 0
    assert manifest["versions"] == FACTS.versions
    assert manifest["seconds"] == FACTS.seconds
    assert manifest["peak_memory"] == FACTS.peak_memory
    assert set(manifest["sha256"]) == {"explanation.json", "recourses.csv", "coverage_curve.csv", "molecules.csv"}
    for name, checksum in manifest["sha256"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == checksum
    assert {path.name for path in tmp_path.iterdir()} == {*manifest["sha256"], "manifest.json"}


def test_tables(tiny: Explanation, tmp_path: Path) -> None:
    tiny.save(tmp_path)
    with (tmp_path / "recourses.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["gain"] for row in rows] == ["1", "1"]
    assert [row["inputs"] for row in rows] == ["0", "1"]
    assert [float(row["coverage"]) for row in rows] == list(tiny.coverage_curve)
    assert (tmp_path / "coverage_curve.csv").read_text().splitlines()[1:] == [f"1,{1 / 3}", f"2,{2 / 3}"]
    frame = tiny.to_frame()
    assert list(frame["gain"]) == [1, 1]
    assert list(frame["median_edits"]) == [2, 1]


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_no_cell_runs_as_a_formula(tiny: Explanation, tmp_path: Path, start: str) -> None:
    first, second = tiny.recourses
    replace(tiny, recourses=(replace(first, summary=start, description=start), second)).save(tmp_path)
    with (tmp_path / "recourses.csv").open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert row["summary"] == row["description"] == f"'{start.strip()}"


def test_markup_in_names_stays_text(tiny: Explanation) -> None:
    first, second = tiny.recourses
    hostile = replace(
        tiny, schema=replace(tiny.schema, dataset=HOSTILE[0]), recourses=(replace(first, summary=HOSTILE[0]), second)
    )
    page = hostile._repr_html_()
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 2


def test_covering(tiny: Explanation) -> None:
    found = tiny.covering(1)
    assert found is not None
    assert found[0] == 1
    assert found[1].edits == (DROP,)
    assert tiny.covering(3) is None
    with pytest.raises(InputError, match=r"got 2\)"):
        tiny.covering(2)


def test_plot_draws_both_sides(tiny: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    hostile = explain(tiny_dataset(("$\\frac$", "_{", HOSTILE[4])), [[(0, (RELABEL, TIE))]])
    for explanation in (tiny, hostile):
        figure = explanation.recourses[0].plot()
        assert len(figure.axes) == 2
        figure.savefig(tmp_path / "change.svg")
    assert [len(axes.texts) for axes in tiny.recourses[0].plot().axes] == [4, 5]
    with pytest.raises(InputError, match="example must be a place"):
        tiny.recourses[0].plot(5)
    with pytest.raises(InputError, match="Only a recourse of an Explanation"):
        CommonRecourse(vector=(1.0,), summary="").plot()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uncovered": ()}, "covered or listed as uncovered .got"),
        ({"uncovered": (Uncovered(input=DatasetIndex(3), reason=Reason.BUDGET_EXHAUSTED), Uncovered(input=DatasetIndex(0), reason=Reason.BUDGET_EXHAUSTED))}, "named once each .got 0 twice"),
        ({"uncovered": (Uncovered(input=DatasetIndex(8), reason=Reason.BUDGET_EXHAUSTED),)}, "indices of inputs .got 8"),
        ({"metrics": {"coverage": 0.5}}, "metric coverage must be what"),
        ({"metrics": {"cost": "high"}}, "Metrics must be numbers"),
        ({"metrics": {"cost": math.nan}}, "metrics must be JSON values"),
        ({"parameters": {"theta": object()}}, "parameters must be JSON values"),
        ({"schema": {"label_names": ("C",)}}, "Every node label needs a name"),
        ({"schema": {"edge_label_names": ("single",)}}, "Every edge label needs a name"),
        ({"schema": {"class_names": ("only",)}}, "class_names must be two"),
        ({"schema": {"dataset": "\ud800"}}, "text that UTF-8 can hold"),
        ({"inputs": {-1: RejectedInput(Graph([0], []), 0.5)}, "recourses": (), "uncovered": ()}, "must not be negative"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tiny: Explanation, changes: dict[str, Any], message: str) -> None:
    if "schema" in changes:
        changes = {"schema": replace(tiny.schema, **changes["schema"])}
    with pytest.raises(InputError, match=message) as caught:
        replace(tiny, **{"metrics": {}, **changes})
    assert "\n" not in str(caught.value)


def test_recourses_that_contradict_each_other_are_refused(tiny: Explanation) -> None:
    first, second = tiny.recourses
    elsewhere = replace(first.covered[0], edits=(RELABEL,))
    with pytest.raises(InputError, match="must lead to its counterfactual"):
        replace(tiny, recourses=(replace(first, covered=(elsewhere,)), second))
    impossible = replace(first.covered[0], edits=(Edit(EditKind.REMOVE_NODE, 0),))
    with pytest.raises(InputError, match="cannot be made"):
        replace(tiny, recourses=(replace(first, covered=(impossible,)), second))
    with pytest.raises(InputError, match="covered by an earlier recourse"):
        replace(tiny, recourses=(replace(first, also_covers=(1,)), second))
    with pytest.raises(InputError, match="one length"):
        replace(tiny, recourses=(replace(first, vector=(1.0,)), second))


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (CoveredInput, {"probability": 1.5}, "probability must lie in"),
        (CoveredInput, {"distance": -1.0}, "distance must not be negative"),
        (CoveredInput, {"distance": math.inf}, "distance must be finite"),
        (CoveredInput, {"num_edits": -1}, "num_edits must not be negative"),
        (CoveredInput, {"position": (math.nan, 0)}, "position must be finite"),
        (CommonRecourse, {"vector": ()}, "vector must hold finite numbers"),
        (CommonRecourse, {"vector": (math.nan,)}, "vector must hold finite numbers"),
        (CommonRecourse, {"share_valid": 2}, "share_valid must lie in"),
        (Uncovered, {"reason": "tired"}, "reason must be one of"),
        (RunFacts, {"seconds": {"search": -1}}, "seconds of a stage"),
        (RunFacts, {"model_accuracy": 87}, "model_accuracy must lie in"),
        (RunFacts, {"facts": {"x": {1, 2}}}, "facts must be JSON values"),
    ],
)
def test_bad_values_are_refused(tiny: Explanation, kind: type, values: dict[str, Any], message: str) -> None:
    good: dict[type, Any] = {
        CoveredInput: tiny.recourses[0].covered[0],
        CommonRecourse: tiny.recourses[0],
        Uncovered: tiny.uncovered[0],
        RunFacts: FACTS,
    }
    with pytest.raises(InputError, match=message):
        replace(good[kind], **values)


@pytest.mark.parametrize("name", ["explanation.json", "recourses.csv", "coverage_curve.csv"])
def test_a_damaged_file_is_named(tiny: Explanation, tmp_path: Path, name: str) -> None:
    tiny.save(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match=rf"{name} is damaged"):
        Explanation.load(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=rf"Cannot read .*{name}"):
        Explanation.load(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d.update(format=1), "format must be 2, .*"),
        (lambda d: d.pop("recourses"), "the document: Object missing required field"),
        (lambda d: d["recourses"][0].pop("vector"), r"recourses\[0\]: A recourse is either"),
        (lambda d: d["recourses"][0]["covered"][0].update(input=99), r"covered\[0\].input must be the index"),
        (lambda d: d["recourses"][1].update(also_covers=[7]), "must be indices of inputs .got 7"),
        (lambda d: d["recourses"][0].update(gain=5), "gain must be the number"),
        (lambda d: d["recourses"][0].update(norm=5), "norm must be the length"),
        (lambda d: d.update(coverage_curve=[0.1, 0.2]), "coverage_curve must follow"),
        (lambda d: d["recourses"][0]["covered"][0]["edits"][1].__setitem__(1, 2), "must lead to its counterfactual"),
        (lambda d: d["recourses"][0]["covered"][0].update(edits=[["paint", 3]]), r"edits\[0\]: must begin with one of"),
        (lambda d: d["recourses"][0]["covered"][0].update(edits=[["relabel", 3, "Xe"]]), "must be the name"),
        (lambda d: d["recourses"][0]["covered"][0].update(edits=[["relabel", 3]]), "must have 2 arguments"),
        (lambda d: d["recourses"][0]["covered"][0]["counterfactual"].update(ids=[0]), "one increasing id per node"),
        (lambda d: d["recourses"][0]["covered"][0]["counterfactual"]["labels"].__setitem__(0, 7), "needs a name"),
        (lambda d: d["inputs"][0]["edges"].append([0, 9]), "inputs.0.: Edge ends must lie in"),
        (lambda d: d["inputs"].append(d["inputs"][0]), "must name every input once"),
        (lambda d: d["uncovered"][0].update(reason="tired"), r"uncovered\[0\].reason: Invalid enum value 'tired'"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_refused(
    tiny: Explanation, tmp_path: Path, spoil: Spoil, message: str
) -> None:
    tiny.save(tmp_path)
    rewritten(tmp_path, spoil)
    with pytest.raises(InputError, match=message) as caught:
        Explanation.load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "explanation.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ['{"format": 1, "dataset": "ti', "", "[1, 2", '{"format": NaN}', "[" * 100_000, "\xff"]
)
def test_bad_json_is_refused(tiny: Explanation, tmp_path: Path, text: str) -> None:
    tiny.save(tmp_path)
    (tmp_path / "explanation.json").write_bytes(text.encode("latin-1"))
    rehash(tmp_path)
    with pytest.raises(InputError, match=r"explanation.json: (not valid JSON|the document: Expected `object`)"):
        Explanation.load(tmp_path)
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"manifest.json: (not valid JSON|the document: Expected `object`)"):
        Explanation.load(tmp_path)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with every key in it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield value, key
        yield from places(inner)


def test_any_one_wrong_value_is_refused_in_one_line_or_harmless(tiny: Explanation, tmp_path: Path) -> None:
    tiny.save(tmp_path)
    text = (tmp_path / "explanation.json").read_text(encoding="utf-8")
    rng = np.random.default_rng(0)
    wrongs: list[Any] = [None, -1, 10**400, 1e308, "x\ny", [], {}, [[]], True, 3.5]
    complaints = []
    for _ in range(300):
        document = json.loads(text)
        found = list(places(document))
        container, key = found[int(rng.integers(len(found)))]
        container[key] = wrongs[int(rng.integers(len(wrongs)))]
        (tmp_path / "explanation.json").write_text(json.dumps(document), encoding="utf-8")
        rehash(tmp_path)
        try:
            Explanation.load(tmp_path)
        except InputError as error:
            complaints.append(str(error))
    assert len(complaints) > 200
    assert not any("\n" in complaint for complaint in complaints)


def test_counterfactuals_are_the_ends_of_their_paths() -> None:
    explanation = planted_explanation()
    for recourse in explanation.recourses:
        for member in recourse.covered:
            assert apply_path(explanation.inputs[member.input].graph, member.edits) == member.counterfactual


@pytest.mark.parametrize("explanation", [planted_rules(60), planted_explanation(60)], ids=["rules", "vectors"])
def test_notebooks_show_pictures(explanation: Explanation) -> None:
    page = explanation._repr_html_()
    for recourse in explanation.recourses:
        assert recourse.summary in page
        assert "<svg" in recourse._repr_html_()
    assert page.count("<svg") >= len(explanation.recourses)
    assert "</svg>" in page


def test_an_explanation_is_plotted_whole(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rules: Any = planted_rules(60).plot()
    assert rules._repr_png_().startswith(b"\x89PNG")  # a notebook shows it without magic
    assert len(rules.axes) == 2
    assert np.asarray(rules.axes[0].lines[0].get_ydata())[-1] == pytest.approx(100 * planted_rules(60).coverage)
    rules.savefig(tmp_path / "rules.svg")
    assert len(planted_explanation(60).plot().axes) == 1
    assert empty_explanation().plot().axes


@pytest.mark.parametrize("explanation", [planted_rules(60), planted_explanation(60)], ids=["rules", "vectors"])
def test_pyg_gets_masks_of_what_changes(explanation: Explanation) -> None:
    for recourse in explanation.recourses:
        member = recourse.covered[0]
        found = explanation.to_pyg(member.input)
        graph = explanation.inputs[member.input].graph
        assert found.validate()
        assert found.node_mask.shape == (graph.num_nodes, 1)
        assert found.edge_mask.shape == (2 * graph.num_edges,)
        gone = set(graph.ids.tolist()) - set(member.counterfactual.ids.tolist())
        marked = {int(graph.ids[i]) for i in range(graph.num_nodes) if found.node_mask[i, 0]}
        assert gone <= marked
        assert 0 < len(marked) < graph.num_nodes
        for (i, j), mask in zip(found.edge_index.T.tolist(), found.edge_mask.tolist(), strict=True):
            assert not mask or {int(graph.ids[i]), int(graph.ids[j])} <= marked
            assert mask or not {int(graph.ids[i]), int(graph.ids[j])} & gone
        assert found.counterfactual.num_nodes == member.counterfactual.num_nodes
        assert found.get_explanation_subgraph().num_nodes == len(marked)
    with pytest.raises(InputError, match="No recourse covers input"):
        explanation.to_pyg(explanation.uncovered[0].input)


def test_stereo_that_a_rule_does_not_touch_is_in_all_files(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    chains = ["C" * length for length in range(3, 13)]
    rows = [f"F[C@H](Cl)/C=C/{chain}{end},{int(not end)}" for chain in chains for end in ("Br", "")]
    (tmp_path / "chains.csv").write_text("\n".join(["smiles,harmless", *rows, ""]))
    dataset = comrecgc.load_dataset(str(tmp_path / "chains.csv"))
    model = comrecgc.as_classifier(
        lambda smiles: [float("Br" not in one) for one in smiles], dataset, call="smiles", return_type="probs"
    )
    rules = comrecgc.Rules(max_changes=1, choose="coverage", allow_alerts=True)
    explainer = comrecgc.CommonRecourseExplainer(model, rules, theta=0.3, num_recourses=1).fit(dataset)
    explainer.save(tmp_path / "run")
    again = comrecgc.open_run(tmp_path / "run").explanation
    applied = explainer.explain(dataset)
    for number, found in enumerate((explainer.explanation_, again, again.choose(num_recourses=1), applied)):
        found.save(tmp_path / str(number))
        with (tmp_path / str(number) / "molecules.csv").open(encoding="utf-8") as file:
            read = list(csv.DictReader(file))
        assert len(read) == len(chains)
        for smiles in (row[column] for row in read for column in ("smiles", "counterfactual")):
            molecule = chem.MolFromSmiles(smiles)
            assert [label for _, label in chem.FindMolChiralCenters(molecule)] == ["R"]
            assert [str(bond.GetStereo()) for bond in molecule.GetBonds() if bond.GetBondTypeAsDouble() == 2] == [
                "STEREOE"
            ]
