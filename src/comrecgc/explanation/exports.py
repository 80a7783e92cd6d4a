"""Explanations in the formats of others: a table and an SDF file of molecules, and objects of PyG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import Change, Graph, edge_labels_by_id, ordered_edge, to_data
from comrecgc.models import AdaptedClassifier
from comrecgc.molecules import PROPERTIES, alerts_of, properties_of, sanitise, to_smiles

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from comrecgc.explanation.explanation import Explanation
    from comrecgc.explanation.records import CommonRecourse, CoveredInput

MOLECULES = "molecules.csv"
COLUMNS = (
    "input", "name", "smiles", "reject_probability", "recourse", "summary", "counterfactual", "probability", "edits", "smirks",
    *(f"{name}_before" for name in PROPERTIES), *(f"{name}_after" for name in PROPERTIES), "alerts_before", "alerts_after",
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
    try:
        from rdkit import Chem
        from rdkit.Chem import rdDepictor
    except ImportError as error:
        raise InputError("Molecules need rdkit: pip install 'comrecgc[chem]'") from error
    if not explanation.schema.is_molecular or not explanation.schema.edge_label_names:
        raise InputError("Only molecules with known bonds can be written as SDF (got other graphs)")
    names = explanation.schema.label_names
    with Chem.SDWriter(str(path)) as writer:
        for record in _records(explanation):
            graph = record["graph"]
            molecule = None if graph is None else sanitise(graph, names)
            if molecule is None:
                continue
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
    records = []
    for index, it in explanation.inputs.items():
        record: dict[str, Any] = dict.fromkeys(COLUMNS)
        record |= {"input": index, "name": it.name, "smiles": to_smiles(it.graph, names), "graph": None}
        record["reject_probability"] = round(it.reject_probability, 4)
        record |= _facts(sanitise(it.graph, names), "before")
        if index in covering:
            place, recourse, member = covering[index]
            record |= {
                "recourse": place + 1,
                "summary": recourse.summary,
                "counterfactual": to_smiles(member.counterfactual, names),
                "probability": round(member.probability, 4),
                "edits": member.num_edits,
                "smirks": recourse.smirks,
                "graph": member.counterfactual,
            }
            record |= _facts(sanitise(member.counterfactual, names), "after")
        records.append(record)
    return records


def _facts(molecule: Any, when: str) -> dict[str, Any]:
    if molecule is None:
        return {}
    facts: dict[str, Any] = {f"{name}_{when}": value for name, value in properties_of(molecule).items()}
    return facts | {f"alerts_{when}": "; ".join(alerts_of(molecule))}


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
    known, rejected = dict(data.to_dict()), explanation.inputs[index].reject_probability
    prediction, target = torch.tensor([[rejected, 1 - rejected]]), 0
    if origin is not None and isinstance(origin.classifier, AdaptedClassifier):
        prediction, target = origin.classifier.prediction(graph)
        known |= (arguments := origin.classifier.further_arguments(data))
    else:
        arguments = {}
    masked = PygExplanation(
        **known
        | {
            "node_mask": torch.tensor([[float(node in touched)] for node in range(int(data.num_nodes or 0))]),
            "edge_mask": torch.tensor([float(ordered_edge(i, j) in edges) for i, j in data.edge_index.T.tolist()]),
            "counterfactual": pyg_counterfactual(explanation, index),
            "recourse": place,
            "prediction": prediction,
            "target": torch.tensor([target]),
        }
    )
    masked._model_args = list(arguments)  # PyG's metrics read it
    masked.validate()
    return masked
