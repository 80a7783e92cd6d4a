"""Rules of real molecules, as a reader gets them: every sentence tells its rule from the others, and its SMIRKS makes what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from comrecgc.algorithms.registry import Rules
from comrecgc.data import GraphDataset, TableReading, load_dataset, load_planted
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation, RuleChooser, catalogue_of
from comrecgc.models import as_classifier
from comrecgc.molecules import are_types, canonical_smiles, read_smiles, to_rdkit, to_smiles
from comrecgc.molecules.smarts import run_smirks

Chem = pytest.importorskip("rdkit.Chem")
rdBase = pytest.importorskip("rdkit.rdBase")
Crippen = pytest.importorskip("rdkit.Chem.Crippen")


def by_polarity(molecules: list[str]) -> list[list[float]]:
    """Accepts what is lipophilic and carries no nitro group, nitrosamine or epoxide."""
    bad = [Chem.MolFromSmarts(text) for text in ("[N+](=O)[O-]", "NN=O", "C1OC1")]
    scores = []
    with rdBase.BlockLogs():
        read = [Chem.MolFromSmiles(text) for text in molecules]
    for molecule in read:
        accepted = Crippen.MolLogP(molecule) > 2 and not any(molecule.HasSubstructMatch(it) for it in bad)
        scores.append([0.0, 1.0] if accepted else [1.0, 0.0])
    return scores


def explained(dataset: GraphDataset, num: int) -> Explanation:
    part = dataset[:num]
    classifier = as_classifier(by_polarity, part, call="smiles")
    return (
        CommonRecourseExplainer(classifier, Rules(max_changes=1), panel=False, num_recourses=15).fit(part).explanation_
    )


def check(explanation: Explanation) -> None:
    summaries = [recourse.summary for recourse in explanation.recourses]
    assert len(summaries) > 3
    assert len(set(summaries)) == len(summaries)
    chooser = explanation.chooser
    assert isinstance(chooser, RuleChooser)
    catalogue = catalogue_of(chooser.mined)
    assert len({rule.summary for rule in catalogue}) == len({rule.smirks for rule in catalogue})
    names = explanation.schema.label_names
    for recourse in explanation.recourses:
        assert recourse.rule is not None
        assert recourse.smirks is not None
        for member in recourse.covered:
            graph = explanation.inputs[member.input].graph
            before = to_smiles(graph, names) if are_types(names) else to_rdkit(graph, names)
            after = canonical_smiles(read_smiles(to_smiles(member.counterfactual, names)))
            assert after in run_smirks(recourse.smirks, before)


def test_planted_molecules() -> None:
    check(explained(load_planted(num_graphs=40), 40))


def test_a_table_of_drugs(data_root: Path) -> None:
    path = data_root / "BBBP.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    check(explained(load_dataset(path, reading=TableReading(on_error="skip")), 60))


def test_an_archive(data_root: Path) -> None:
    if not (data_root / "Mutagenicity.zip").is_file():
        pytest.skip("no archive")
    check(explained(load_dataset("mutagenicity", data_root), 60))
