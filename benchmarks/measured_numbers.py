"""Measured changes of unseen molecules: python benchmarks/measured_numbers.py --data-root DATASETS [--tables CHEMBL204_Ki …] [--mmpdb FOLDER] [--out FILE.csv]

Tables of MoleculeACE with their split. Pairs of molecules that differ by one change are found in the whole table; rules are those of pairs in `train` alone, the 100
that together describe the most of them. On pairs with one molecule in `test`: how many are described, how often the direction is right, and how well the size is ranked
(Spearman), for the rules, for the jury alone, and for always the mean of `train`. `--write-smiles FOLDER` writes what `benchmarks/mmpdb_numbers.py` reads; `--mmpdb
FOLDER` has what it wrote. Cliffs are pairs of molecules that MoleculeACE marks, one unit or more apart.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import comrecgc
from comrecgc.algorithms.measured import EffectModel, Pairs, calibrated, find_pairs
from comrecgc.data import GraphDataset, Numbers, TableReading
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import train_number_jury
from comrecgc.molecules import sanitise, to_smiles
from comrecgc.runs import NUMBER_TRAINING

TABLES = ("CHEMBL218_EC50", "CHEMBL204_Ki", "CHEMBL234_Ki")
TARGET = "y [pEC50/pKi]"
NUM_RULES = 100
FEWEST = 3  # pairs in train of a rule
PROPERTIES = {"MolLogP": 0.5, "MolMR": 5.0}  # and by how much it is to fall
COLUMNS = ("table", "method", "rules", "pairs", "described", "direction", "spearman", "cliffs", "cliff_direction")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, default=Path(os.environ.get("COMRECGC_DATA", ".")))
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--mmpdb", type=Path)
    parser.add_argument("--write-smiles", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--properties", nargs="+", choices=tuple(PROPERTIES), help="Instead: rules for a property that rdkit computes."
    )
    parser.add_argument("--size", type=int, default=500, help="Molecules for --properties.")
    given = parser.parse_args()
    for name in given.properties or ():
        known_property(given.data_root / "truth" / "ester-benzene.csv", name, given.size)
    if given.properties:
        return
    rows: list[dict[str, Any]] = []
    for name in given.tables:
        table = Table(given.data_root / "numbers" / f"{name}.csv")
        if given.write_smiles is not None:
            table.write_smiles(given.write_smiles / f"{name}.smi")
            continue
        started, processor = time.monotonic(), time.process_time()
        found = measure(table, None if given.mmpdb is None else given.mmpdb / f"{name}.pairs.csv")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{name}: {time.monotonic() - started:.0f} s, {time.process_time() - processor:.0f} processor s, {peak:.2f} GB",
            flush=True,
        )
        rows += [{"table": name, **row} for row in found]
        for row in rows[-len(found) :]:
            print(
                "  ",
                " ".join(
                    f"{row[column]:.3f}" if isinstance(row[column], float) else str(row[column]) for column in COLUMNS
                ),
                flush=True,
            )
    if given.out is not None:
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


def known_property(path: Path, name: str, size: int) -> None:
    """Predicted against true effect of the 20 first rules for a property that rdkit computes, on the molecules that each covers."""
    from rdkit.Chem import Crippen

    started = time.monotonic()
    dataset = comrecgc.load_dataset(str(path), reading=TableReading(target="A", accept="True"))
    dataset = dataset.subset(np.random.default_rng(0).permutation(len(dataset))[:size].tolist())
    names, function = dataset.label_names, getattr(Crippen, name)

    def true(graph: Graph) -> float:
        molecule = sanitise(graph, names)
        return float("nan") if molecule is None else float(function(molecule))

    dataset = dataset.with_numbers(Numbers(np.array([true(graph) for graph in dataset.graphs]), name)).aiming(
        comrecgc.Goal(lower_by=PROPERTIES[name])
    )
    model = comrecgc.train_classifier(dataset, NUMBER_TRAINING).model
    explainer = comrecgc.CommonRecourseExplainer(model, comrecgc.Rules(max_changes=1), num_recourses=20).fit(dataset)
    errors, alone, shares = [], [], []
    for recourse in explainer.explanation_.recourses:
        effect = (recourse.statistics)["effect"]
        changes = [
            true(it.counterfactual) - true(explainer.explanation_.inputs[it.input].graph) for it in recourse.covered
        ]
        middle = float(np.nanmedian(changes))
        errors.append(abs(effect["expected"] - middle))
        alone.append(abs(effect["predicted"]["model"]["median"] - middle))
        shares.append(float(np.mean(np.array(changes) <= -PROPERTIES[name])))
        measured = effect["measured"]
        print(f"  {recourse.summary}: expected {effect['expected']:+.2f}, model {effect['predicted']['model']['median']:+.2f}, true {middle:+.2f}, "
              f"{measured['pairs']} pairs, {shares[-1]:.0%} reach the goal", flush=True)  # fmt: skip
    print(f"{name}: {len(errors)} rules, error of what is expected {np.median(errors):.2f} at the median, of the model {np.median(alone):.2f}; "
          f"{np.mean(shares):.0%} of the results shown reach the goal; {time.monotonic() - started:.0f} s")  # fmt: skip


class Table:
    """A table of MoleculeACE: molecules, numbers, and which are in `test` or at a cliff."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.dataset = comrecgc.load_dataset(str(path), reading=TableReading(target=TARGET, raise_by=0.5))
        assert self.dataset.values is not None
        self.values = self.dataset.values
        with path.open(encoding="utf-8") as file:
            cells = list(csv.DictReader(file))
        assert len(cells) == len(self.dataset), "a molecule is there twice"
        self.test = np.array([row["split"] == "test" for row in cells])
        self.cliff = np.array([row["cliff_mol"] == "1" for row in cells])

    def write_smiles(self, path: Path) -> None:
        """A SMILES and the place of each molecule, one a line."""
        names = self.dataset.label_names
        lines = [f"{to_smiles(graph, names)} {place}" for place, graph in enumerate(self.dataset.graphs)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(table: Table, mmpdb: Path | None) -> list[dict[str, Any]]:
    """Figures of every method on pairs of which one molecule is unseen."""
    values, test = table.values, table.test
    pairs = find_pairs(table.dataset.graphs, table.dataset.num_labels)
    answers, folds = jury_answers(table.dataset, test)
    predicted, surprise = said_of(pairs, answers, folds, values, test)
    measured = values[pairs.second] - values[pairs.first]
    seen = ~test[pairs.first] & ~test[pairs.second]
    train = pairs.take(seen)
    model = EffectModel.of(train, measured[seen], predicted[seen], surprise[seen], folds)
    plain = EffectModel.of(train, measured[seen], 0 * predicted[seen], 0 * surprise[seen], folds)
    print(
        f"{table.name}: prior {model.prior:g}, weight {model.weight:.2f}, return {model.return_share:.2f}; pairs alone: prior {plain.prior:g}"
    )
    mixed = np.flatnonzero(test[pairs.first] != test[pairs.second])
    away = np.where(test[pairs.second], 1.0, -1.0)[mixed]  # from the molecule that was measured to the unseen one
    known = np.where(test[pairs.first], pairs.second, pairs.first)[mixed]
    rest = pairs.take(mixed)
    lacks = answers[folds[known], known]
    estimates = {
        "rules": away * plain.change(rest, 0 * predicted[mixed]),
        "rules and jury": away * model.change(rest, predicted[mixed]),
        "rules, jury and its own measurement": away * model.change(rest, predicted[mixed])
        - model.return_share * (values[known] - lacks),
        "jury alone": away * predicted[mixed],
        "always the mean": values[~test].mean() - values[known],
    }
    truth = away * measured[mixed]
    pair = pairs.first[mixed] * len(values) + pairs.second[mixed]
    cliff = (table.cliff[pairs.first] & table.cliff[pairs.second])[mixed] & (np.abs(truth) >= 1)
    keys = train.rules(0)
    best = best_rules(keys, pairs.first[seen] * len(values) + pairs.second[seen], NUM_RULES)
    counts = dict(zip(*np.unique(keys, return_counts=True), strict=True))
    support = np.array([counts.get(key, 0) for key in rest.rules(0).tolist()])
    total = len(np.unique(pair))
    found = []
    for label, rules in (("100", best), ("all", set(counts))):
        described = np.array([key in rules for key in rest.rules(0).tolist()], bool)
        one = first_of_each(pair, described, support)
        for method, said in estimates.items():
            found.append(
                {"method": method, "rules": label, "pairs": total, **figures(said[one], truth[one], cliff[one])}
            )
    return found + ([] if mmpdb is None else mmpdb_figures(mmpdb, table))


def jury_answers(dataset: GraphDataset, test: npt.NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """What the copies of the jury that lack each part of `train` say of every molecule, `[4, n]`, and the part of each molecule, `[n]`."""
    train = dataset.subset(np.flatnonzero(~test).tolist())
    assert train.goal is not None
    jury, sentence = train_number_jury(train, train.goal, jobs=2)
    assert jury is not None, sentence
    jury, sentence = calibrated(jury, train)
    print(sentence, flush=True)
    folds = np.zeros(len(dataset), np.int64)
    folds[~test] = jury.folds
    batch = GraphBatch.from_graphs(dataset.graphs)
    both = [
        (
            jury.numbers(batch, np.full(len(batch), fold))
            + jury.numbers(batch, np.full(len(batch), fold), reporting=True)
        )
        / 2
        for fold in range(4)
    ]
    return np.stack(both), folds


def said_of(
    pairs: Pairs, answers: Floats, folds: Ints, values: Floats, test: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Change of each pair according to copies that lack the molecules whose numbers are known, and the surprise of the first molecule's number."""
    one, two = pairs.first, pairs.second
    first = np.where(test[one], folds[two], folds[one])
    second = np.where(test[two], folds[one], folds[two])
    change = ((answers[first, two] - answers[first, one]) + (answers[second, two] - answers[second, one])) / 2
    return change, values[one] - answers[first, one]


def best_rules(keys: npt.NDArray[Any], pair: Ints, number: int) -> set[Any]:
    """Rules that together describe the most pairs, greedily."""
    members: dict[Any, set[int]] = {}
    for key, one in zip(keys.tolist(), pair.tolist(), strict=True):
        members.setdefault(key, set()).add(one)
    left = {key: held for key, held in members.items() if len(held) >= FEWEST}
    chosen: set[Any] = set()
    while left and len(chosen) < number:
        key = max(left, key=lambda each: (len(left[each]), each))
        taken = left.pop(key)
        if not taken:
            break
        chosen.add(key)
        left = {other: held - taken for other, held in left.items()}
    return chosen


def first_of_each(pair: Ints, described: npt.NDArray[np.bool_], support: Ints) -> Ints:
    """A row for every pair that is described: the one whose rule has the most pairs in train."""
    rows = np.flatnonzero(described)
    order = rows[np.lexsort((-support[rows], pair[rows]))]
    return order[np.r_[True, np.diff(pair[order]) != 0]] if len(order) else order


def figures(said: Floats, truth: Floats, cliff: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Pairs, direction and rank correlation."""
    from scipy.stats import spearmanr

    moved = truth != 0
    right = np.sign(said) == np.sign(truth)
    rank = float(spearmanr(said, truth)[0]) if len(said) > 2 and np.ptp(said) > 0 else float("nan")
    at = moved & cliff
    return {
        "described": len(said), "direction": float(right[moved].mean()), "spearman": rank,
        "cliffs": int(at.sum()), "cliff_direction": float(right[at].mean()) if at.any() else float("nan"),
    }  # fmt: skip


def mmpdb_figures(path: Path, table: Table) -> list[dict[str, Any]]:
    """The same of mmpdb's transformations, whose statistics are those of pairs in train."""
    values, test = table.values, table.test
    with path.open(encoding="utf-8") as file:
        rows = np.array([[int(cell) for cell in row.values()] for row in csv.DictReader(file)])
    rows = rows[rows[:, 3] == 0]
    first, second, rule = rows[:, 0], rows[:, 1], rows[:, 2]
    change = values[second] - values[first]
    seen, mixed = ~test[first] & ~test[second], np.flatnonzero(test[first] != test[second])
    size = rule.max() + 1
    count = np.bincount(rule[seen], minlength=size)
    mean = np.bincount(rule[seen], change[seen], minlength=size) / np.maximum(count, 1)
    pair = np.minimum(first, second) * len(values) + np.maximum(first, second)
    away = np.where(test[second], 1.0, -1.0)[mixed]
    truth, said = away * change[mixed], away * mean[rule[mixed]]
    cliff = (table.cliff[first] & table.cliff[second])[mixed] & (np.abs(truth) >= 1)
    most = np.zeros(size, bool)
    most[np.lexsort((np.arange(size), -count))[:NUM_RULES]] = True
    greedy = np.zeros(size, bool)
    greedy[list(best_rules(rule[seen], pair[seen], NUM_RULES))] = True
    found = []
    for label, chosen in (("100", greedy), ("100 of most pairs", most), ("all", count > 0)):
        one = first_of_each(pair[mixed], chosen[rule[mixed]] & (count[rule[mixed]] > 0), count[rule[mixed]])
        found.append(
            {
                "method": "mmpdb",
                "rules": label,
                "pairs": len(np.unique(pair[mixed])),
                **figures(said[one], truth[one], cliff[one]),
            }
        )
    return found


if __name__ == "__main__":
    main()
