"""The run folder: an explanation on disk with its tables, and a manifest with their checksums; and formats of others: SDF and objects of PyG."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from comrecgc.errors import InputError
from comrecgc.explanation.document import FORMAT, Integer, check_format, decode_explanation, encode_explanation, parse
from comrecgc.explanation.explanation import CommonRecourse, CoveredInput, Explanation, RunFacts, interval_in
from comrecgc.explanation.trust import NUMBERS, expected_after, number_after
from comrecgc.graphs import Change, Graph, edge_labels_by_id, ordered_edge, to_data
from comrecgc.models import AdaptedClassifier
from comrecgc.molecules import PROPERTIES, facts_of, load_rdkit, restore_stereo, sanitise, to_smiles
from comrecgc.run import reason_of, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data


MOLECULES = "molecules.csv"
COLUMNS = (
    "input", "name", "smiles", "reject_probability", "recourse", "summary", "counterfactual", "probability", "edits", "smirks",
    "value", "predicted_before", "predicted_after", "expected_after", *(f"{name}_before" for name in PROPERTIES), *(f"{name}_after" for name in PROPERTIES), "alerts_before", "alerts_after",
)  # fmt: skip


def molecule_rows(explanation: Explanation) -> list[list[Any]] | None:
    """A header, then a row for every input; None where inputs are no molecules, bonds are not known or rdkit is not installed."""
    if not explanation.schema.is_molecular or not explanation.schema.edge_label_names:
        return None
    try:
        return [list(COLUMNS), *([record[name] for name in COLUMNS] for record in _records(explanation))]
    except InputError:  # no rdkit, or edge labels that are no bonds
        return None


def write_sdf(explanation: Explanation, path: str | Path) -> None:
    """Every counterfactual as a record of an SDF file, with what it was made from and how as properties."""
    chem = load_rdkit()
    from rdkit.Chem import rdDepictor

    if not explanation.schema.is_molecular or not explanation.schema.edge_label_names:
        raise InputError("Only molecules with known bonds can be written as SDF (got other graphs)")
    names = explanation.schema.label_names
    with chem.SDWriter(str(path)) as writer:
        for record in _records(explanation):
            graph = record["graph"]
            molecule = None if graph is None else sanitise(graph, names)
            if molecule is None:
                continue
            restore_stereo(molecule, graph, explanation.inputs[record["input"]].stereo)
            rdDepictor.Compute2DCoords(molecule)
            molecule.SetProp("_Name", record["name"] or f"input {record['input']}")
            for key in COLUMNS:
                if record[key] is not None:
                    molecule.SetProp(key, str(record[key]))
            writer.write(molecule)


def _records(explanation: Explanation) -> list[dict[str, Any]]:
    names = explanation.schema.label_names
    covering: dict[int, tuple[int, CommonRecourse, CoveredInput]] = {
        int(member.input): (place, recourse, member)
        for place, recourse in enumerate(explanation.recourses)
        for member in recourse.covered
    }
    records, numbers = [], explanation.facts.facts.get(NUMBERS)
    for index, it in explanation.inputs.items():
        record: dict[str, Any] = dict.fromkeys(COLUMNS)
        record |= {"input": index, "name": it.name, "smiles": to_smiles(it.graph, names, it.stereo), "graph": None}
        record["reject_probability"] = round(it.reject_probability, 4)
        if numbers:
            record |= {
                "value": numbers["measured"].get(str(index)),
                "predicted_before": numbers["predicted"].get(str(index)),
            }
        if index in covering:
            place, recourse, member = covering[index]
            record |= {"recourse": place + 1, "summary": recourse.summary, "smirks": recourse.smirks}
            record |= {"probability": round(member.probability, 4), "edits": member.num_edits}
            record |= {
                "counterfactual": to_smiles(member.counterfactual, names, it.stereo),
                "graph": member.counterfactual,
            }
            record |= _facts(it.graph, names, "before") | _facts(member.counterfactual, names, "after")
            if numbers:
                record["predicted_after"] = number_after(numbers, index, member.probability)
                record["expected_after"] = expected_after(numbers, index, recourse.statistics)
        records.append(record)
    return records


def _facts(graph: Graph, names: Sequence[str], when: str) -> dict[str, Any]:
    properties, alerts = facts_of(graph, tuple(names)) or ({}, frozenset())
    facts: dict[str, Any] = {f"{name}_{when}": value for name, value in properties.items()}
    return facts | ({f"alerts_{when}": "; ".join(sorted(alerts))} if properties else {})


def pyg_counterfactual(explanation: Explanation, index: int) -> Data:
    """What comes of an input, as PyG `Data`; see `Explanation.counterfactual`."""
    _, member = _covering(explanation, index)
    data = _data(explanation, member.counterfactual)
    if "y" in data:  # the class of the graph before
        del data["y"]
    return data


def _covering(explanation: Explanation, index: int) -> tuple[int, CoveredInput]:
    found = explanation.covering(index)
    if found is None:
        reason = next(entry.reason for entry in explanation.uncovered if entry.input == index)
        raise InputError(f"No recourse covers input {index}: {reason.value}")
    return found


def _data(explanation: Explanation, graph: Graph) -> Data:
    """A graph in the features of the user's data where they are at hand, else one-hot in its labels."""
    own = None if explanation.origin is None else explanation.origin.attributes
    if own is None or graph.source < 0:
        return to_data(graph, np.eye(len(explanation.schema.label_names), dtype=np.float32))
    data = own.data(graph)
    if "changed" in data:
        del data["changed"]
    return data


def pyg_explanation(explanation: Explanation, index: int) -> Any:
    """The input with masks of what its recourse changes; see `Explanation.to_pyg`."""
    import torch
    from torch_geometric.explain import Explanation as PygExplanation

    place, member = _covering(explanation, index)
    graph, after = explanation.inputs[index].graph, member.counterfactual
    change = Change.between(graph, after)
    old, new = edge_labels_by_id(graph), edge_labels_by_id(after)
    edges = change.cut | {edge for edge in old.keys() & new.keys() if old[edge] != new[edge]}
    touched = change.touched | {node for edge in edges for node in edge}
    data, origin = _data(explanation, graph), explanation.origin
    if origin is not None and origin.attributes is not None and graph.source >= 0:
        data = origin.attributes.original(graph.source)
    rejected, arguments = explanation.inputs[index].reject_probability, dict[str, Any]()
    prediction, target = torch.tensor([[rejected, 1 - rejected]]), 0
    if origin is not None and isinstance(origin.classifier, AdaptedClassifier):
        prediction, target = origin.classifier.prediction(graph)
        arguments = origin.classifier.further_arguments(data)
    known = {**data.to_dict(), **arguments, "prediction": prediction, "target": torch.tensor([target])}
    known |= {
        "node_mask": torch.tensor([[float(node in touched)] for node in range(int(data.num_nodes or 0))]),
        "edge_mask": torch.tensor([float(ordered_edge(i, j) in edges) for i, j in data.edge_index.T.tolist()]),
        "counterfactual": pyg_counterfactual(explanation, index),
        "recourse": place,
    }
    masked = PygExplanation(**known)
    masked._model_args = list(arguments)  # PyG's metrics read it
    masked.validate()
    return masked


# The run folder.


MANIFEST = "manifest.json"
EXPLANATION = "explanation.json"
RECOURSES = "recourses.csv"
CURVE = "coverage_curve.csv"
PAIRS = "pairs.csv"

Cell = str | int | float | None

_COLUMNS = "recourse summary description gain coverage also_covers norm median_edits median_distance share_valid inputs".split()
_RULE_COLUMNS = "applicable accepted success success_low success_high held_out_success places places_accepted too_far confirmed cost smirks".split()
_MOLECULE_COLUMNS = (
    "example_name example_before example_after logp tpsa weight sa_score qed lose_alerts gain_alerts".split()
)
_PAIR_COLUMNS: list[Cell] = [*"recourse before before_label after after_label before_smiles after_smiles".split()]
# A spreadsheet runs a cell that begins so as a formula; some take the full-width signs of East Asian text for the same.
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


class _Manifest(Struct):
    format: Integer
    sha256: dict[str, str]


def save_explanation(explanation: Explanation, folder: Path) -> None:
    """Write the files of a run; the manifest goes last, so a folder with one that fits is whole."""
    texts = {
        EXPLANATION: encode_explanation(explanation),
        RECOURSES: csv_text(recourse_rows(explanation)),
        CURVE: csv_text(curve_rows(explanation)),
    }
    molecules = molecule_rows(explanation)
    if molecules is not None:
        texts[MOLECULES] = csv_text(molecules)
    if len(pairs := pair_rows(explanation)) > 1:
        texts[PAIRS] = csv_text(pairs)
    for name, text in texts.items():
        write_text(folder / name, text)
    facts = vars(explanation.facts)
    if explanation.chooser is not None:
        facts = facts | {"facts": {**explanation.facts.facts, **explanation.chooser.save(folder)}}
    head = {"format": FORMAT, "dataset": explanation.schema.dataset, "parameters": explanation.parameters}
    checksums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    write_json(folder / MANIFEST, head | facts | {"sha256": checksums})


def load_explanation(folder: str | Path) -> Explanation:
    """The explanation in a run folder, checked against the manifest's checksums and for consistency.

    Raises:
        InputError: If a file is missing, does not fit its checksum, or says what cannot be.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a run folder: there is no such folder")
    text = _bytes(folder / MANIFEST)
    with _naming(folder / MANIFEST):
        manifest, facts = parse(text, _Manifest), parse(text, RunFacts)
        check_format(manifest.format)
    contents = {name: _bytes(folder / name) for name in (EXPLANATION, RECOURSES, CURVE)}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest.sha256.get(name):
            raise InputError(f"{folder / name} is damaged: its SHA-256 must be the one in {MANIFEST}")
    with _naming(folder / EXPLANATION):
        return decode_explanation(contents[EXPLANATION], facts)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Complaints within the block get the file's name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except RecursionError:  # a little less deep than what the JSON parser itself refuses
        raise InputError(f"{path}: lists and objects must not be nested so deep") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error


def recourse_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then a row for every recourse in order of selection; rules have columns of their own at the end."""
    are_rules = explanation.recourse == "rules"
    with_molecules = are_rules and any("properties" in recourse.statistics for recourse in explanation.recourses)
    of_rules, of_molecules = _RULE_COLUMNS if are_rules else [], _MOLECULE_COLUMNS if with_molecules else []
    rows: list[list[Cell]] = [[*_COLUMNS, *of_rules, *of_molecules]]
    for place, (recourse, coverage) in enumerate(zip(explanation.recourses, explanation.coverage_curve, strict=True)):
        inputs = " ".join(str(member.input) for member in recourse.covered)
        own: dict[str, Cell] = {
            "recourse": place + 1,
            "coverage": coverage,
            "also_covers": len(recourse.also_covers),
            "inputs": inputs,
        }
        cells: list[Cell] = [own[name] if name in own else getattr(recourse, name) for name in _COLUMNS]
        cells += _rule_cells(recourse) if are_rules else []
        rows.append([*cells, *(_molecule_cells(explanation, recourse) if with_molecules else ())])
    return rows


def _rule_cells(recourse: CommonRecourse) -> list[Cell]:
    known = dict(recourse.statistics)
    known["success_low"], known["success_high"] = interval_in(known) or (None, None)
    held_out, places = (it if isinstance(it := known.get(name), dict) else {} for name in ("held_out", "places"))
    known |= {"held_out_success": held_out.get("success"), "smirks": recourse.smirks, "places": places.get("places")}
    known |= {"places_accepted": places.get("accepted"), "too_far": places.get("too_far")}
    cells = [known.get(name) for name in _RULE_COLUMNS]
    return [cell if isinstance(cell, str | int | float) else None for cell in cells]  # files may hold anything


def _molecule_cells(explanation: Explanation, recourse: CommonRecourse) -> list[Cell]:
    """A molecule before and after, and the median changes of properties."""
    known = recourse.statistics.get("properties")
    known = known if isinstance(known, dict) else {}
    example: list[Cell] = [None, None, None]
    if recourse.covered:
        before, names = explanation.inputs[recourse.covered[0].input], explanation.schema.label_names
        graphs = (before.graph, recourse.covered[0].counterfactual)
        example = [before.name, None, None]
        with suppress(InputError):  # no rdkit here
            example[1:] = [to_smiles(graph, names, before.stereo) for graph in graphs]
    cells = [known.get(name) for name in _MOLECULE_COLUMNS[len(example) :]]
    return [*example, *(cell if isinstance(cell, str | int | float) else None for cell in cells)]


def pair_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then the pairs of real graphs that differ by exactly a recourse, with their labels; molecules with their SMILES."""
    rows: list[list[Cell]] = [_PAIR_COLUMNS]
    for place, recourse in enumerate(explanation.recourses):
        pairs = recourse.statistics.get("pairs")
        listed = pairs.get("listed") if isinstance(pairs, dict) else None
        for pair in listed if isinstance(listed, list) else ():
            before, after = ({} if not isinstance(it := pair.get(side), dict) else it for side in ("before", "after"))
            names = [before.get("name"), before.get("label"), after.get("name"), after.get("label")]
            rows.append([place + 1, *names, before.get("smiles"), after.get("smiles")])
    return rows


def curve_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then the share covered by the first 1, 2, … R recourses."""
    rows: list[list[Cell]] = [[k + 1, share] for k, share in enumerate(explanation.coverage_curve)]
    return [["recourses", "coverage"], *rows]


def frame_of(rows: list[list[Any]]) -> pd.DataFrame:
    """Rows below their header as a data frame. Needs pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError("to_frame needs pandas: pip install 'comrecgc[notebook]'") from error
    return pd.DataFrame(rows[1:], columns=rows[0])


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV; every row is one line, and text that a spreadsheet would run as a formula gets a quote before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def _defused(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    words = " ".join("".join(char for char in cell if char.isprintable() or char.isspace()).split())
    return f"'{words}" if words.startswith(_FORMULA_STARTS) else words
