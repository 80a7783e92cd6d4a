"""Molecules to graphs and back: python benchmarks/molecules.py [TABLE …] [--generated 5000] [--archives mutagenicity aids] [--runs RUN …]

For each table of SMILES, as written, and for drug-like SMILES made by code: the share that comes back with the same canonical SMILES, stereo apart, the share
that counts as valid, and molecules a second each way. Archives have no SMILES to compare with; a molecule comes back if its SMILES, read again, gives
the same SMILES. For each run folder: how many of all covered molecules rdkit makes from the input and the rule's SMIRKS, and how many of the
sentences are distinct.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path

from rdkit import Chem, rdBase

from comrecgc.data import GraphDataset, load_dataset
from comrecgc.data.smiles import from_smiles_table
from comrecgc.explanation import Explanation
from comrecgc.molecules import are_types, canonical_smiles, is_valid_molecule, read_smiles, to_rdkit, to_smiles
from comrecgc.molecules.smarts import run_smirks

sys.path.append(str(Path(__file__).parents[1]))
from tests.molecules.druglike import drug_like


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--generated", type=int, default=5000)
    parser.add_argument("--archives", nargs="*", default=["mutagenicity"])
    parser.add_argument("--runs", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    print("| molecules | number | same SMILES | valid | read per s | written per s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "generated.csv"
        made.write_text("smiles\n" + "\n".join(drug_like(options.generated)), encoding="utf-8")
        for table in [*options.tables, *([made] if options.generated else [])]:
            started = time.process_time()
            dataset = from_smiles_table(table, on_error="skip", standardise=False, need_classes=False)
            seconds = time.process_time() - started
            show(table.stem, dataset, seconds, written(table))
    for name in options.archives:
        started = time.process_time()
        dataset = load_dataset(name)
        show(name, dataset, time.process_time() - started, None)
    if options.runs:
        print("\n| run | rules | distinct sentences | molecules covered | made by the SMIRKS |\n|---|---|---|---|---|")
    for run in options.runs:
        show_run(run)


def written(table: Path) -> list[str]:
    """Canonical SMILES of the rows that rdkit reads."""
    with table.open(newline="", encoding="utf-8") as file, rdBase.BlockLogs():
        read = [Chem.MolFromSmiles(row["smiles"]) for row in csv.DictReader(file)]
    return [canonical_smiles(molecule) for molecule in read if molecule is not None]


def show(name: str, dataset: GraphDataset, seconds: float, expected: list[str] | None) -> None:
    started = time.process_time()
    back = [to_smiles(graph, dataset.label_names) for graph in dataset]
    rate = len(dataset) / (time.process_time() - started)
    valid = sum(is_valid_molecule(graph, dataset.label_names) for graph in dataset)
    if expected is None:
        with rdBase.BlockLogs():
            again = [Chem.MolFromSmiles(text) for text in back]
            plain = [canonical_smiles(Chem.RemoveHs(molecule)) for molecule in again if molecule is not None]
            same = sum(canonical_smiles(Chem.MolFromSmiles(text)) == text for text in plain)
    else:
        assert len(expected) == len(dataset)
        same = sum(one == other for one, other in zip(back, expected, strict=True))
    num = len(dataset)
    print(f"| {name} | {num} | {same / num:.2%} | {valid / num:.2%} | {num / seconds:.0f} | {rate:.0f} |", flush=True)


def show_run(run: Path) -> None:
    explanation = Explanation.load(run)
    names = explanation.schema.label_names
    made = []
    for recourse in explanation.recourses:
        assert recourse.rule is not None
        for member in recourse.covered if recourse.smirks else ():
            graph = explanation.inputs[member.input].graph
            before = to_smiles(graph, names) if are_types(names) else to_rdkit(graph, names)
            after = canonical_smiles(read_smiles(to_smiles(member.counterfactual, names)))
            made.append(after in run_smirks(recourse.smirks or "", before))
    sentences = {recourse.summary for recourse in explanation.recourses}
    print(f"| {run.name} | {len(explanation.recourses)} | {len(sentences)} | {len(made)} | {sum(made)} |", flush=True)


if __name__ == "__main__":
    main()
