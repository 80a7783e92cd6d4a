"""Measured changes of unseen molecules: python benchmarks/measured_numbers.py --data-root DATASETS [--tables CHEMBL204_Ki …] [--mmpdb FOLDER] [--out FILE.csv]

Tables of MoleculeACE with their split. Pairs of molecules that differ by one change are found in the whole table; rules are those of pairs in `train` alone, the 100
that together describe the most of them. On pairs with one molecule in `test`: how many are described, how often the direction is right, and how well the size is ranked
(Spearman), for the rules, for the jury and a network alone, for what is unusual about a molecule's own measurement alone, and for always the mean of `train`; and how often a rise of 0.5 came true where it was expected. `--write-smiles FOLDER` writes what `benchmarks/mmpdb_numbers.py` reads; `--mmpdb
FOLDER` has what it wrote. Cliffs are pairs of molecules that MoleculeACE marks, one unit or more apart.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import comrecgc
from comrecgc.algorithms.matched_pairs import Pairs, calibrated, cross_fitted_errors, find_pairs, fit_effects
from comrecgc.data import GraphDataset, Numbers, TableReading
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import EffectModel, Likeness, MeasuredGraphs, as_goal_classifier, train_number_jury
from comrecgc.molecules import sanitise, to_smiles
from comrecgc.runs import NUMBER_TRAINING

TABLES = ("CHEMBL218_EC50", "CHEMBL204_Ki", "CHEMBL234_Ki")
TARGET = "y [pEC50/pKi]"
NUM_RULES = 100
FEWEST = 3  # pairs in train of a rule
GOAL = 0.5  # rise that is asked for where what is expected is compared with what came true
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
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {name: round(it, 4) if isinstance(it, float) else it for name, it in row.items()} for row in rows
            )


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
    """Figures of every method on pairs of which one molecule is unseen, from the molecule that was measured to the unseen one."""
    values, test = table.values, table.test
    pairs = find_pairs(table.dataset.graphs, table.dataset.num_labels).both_ways()
    graphs, network = measured_graphs(table.dataset, test)
    train = pairs.take(~test[pairs.first] & ~test[pairs.second])
    model = fit_effects(train, graphs)
    nothing = replace(graphs, answers=0 * graphs.answers)
    plain = EffectModel(weight=0.0, seen=0.0)
    errors = cross_fitted_errors(train, values[train.second] - values[train.first], nothing, plain)
    strength, shared = min(errors, key=lambda each: errors[each])
    plain = replace(plain, strength=strength, shared=shared)
    print(f"{table.name}: {model.weight:.2f} of what is predicted, {model.return_share:.2f} of a surprise returns, strength {model.strength:g}, shared "
          f"{model.shared:g}; pairs alone: strength {plain.strength:g}, shared {plain.shared:g}", flush=True)  # fmt: skip
    rest = pairs.take(~test[pairs.first] & test[pairs.second])
    predicted, surprise, _ = graphs.changes(rest.first, rest.second)
    (alone, _), (added, variance) = (
        effects_of(rest, train, each, how) for each, how in ((nothing, plain), (graphs, model))
    )
    expected = model.weight * predicted + added
    estimates = {
        "pairs alone": alone,
        "pairs and jury": expected,
        "pairs, jury and its own measurement": expected - model.return_share * surprise,
        "jury and its own measurement": model.weight * predicted - model.return_share * surprise,
        "its own measurement alone": -surprise,
        "jury alone": predicted,
        "network alone": network[rest.second] - network[rest.first],
        "always the mean": values[~test].mean() - values[rest.first],
    }
    truth = values[rest.second] - values[rest.first]
    pair = np.minimum(rest.first, rest.second) * len(values) + np.maximum(rest.first, rest.second)
    cliff = table.cliff[rest.first] & table.cliff[rest.second] & (np.abs(truth) >= 1)
    keys = train.rules(None)
    both = np.minimum(train.first, train.second) * len(values) + np.maximum(train.first, train.second)
    best = best_rules(np.minimum(keys, train.swapped().rules(None)), both, NUM_RULES)
    mine, total = np.minimum(rest.rules(None), rest.swapped().rules(None)), len(np.unique(pair))
    found, theirs = [], None if mmpdb is None else Mmpdb(mmpdb, table, graphs)
    for label, described in (("100", np.isin(mine, list(best))), ("all", np.isin(rest.rules(None), keys))):
        one = first_of_each(pair, described, variance)
        shown = {label: one}
        if theirs is not None:
            other = theirs.described(label)
            common = one[np.isin(pair[one], theirs.pair[other])]
            shown |= {
                f"{label}, common pairs": common,
                f"{label}, as many pairs": one[np.argsort(variance[one], kind="stable")[: len(other)]],
            }
            found += theirs.rows(label, other) + theirs.rows(
                f"{label}, common pairs", other[np.isin(theirs.pair[other], pair[one])]
            )
        for name, rows in shown.items():
            for method, said in estimates.items():
                found.append(
                    {"method": method, "rules": name, "pairs": total, **figures(said[rows], truth[rows], cliff[rows])}
                )
        likely = model.likely(expected[one] - GOAL, variance[one])
        print_calibration(f"{table.name}, {label} rules", likely, truth[one] >= GOAL)
    return found


def print_calibration(name: str, likely: Floats, came_true: npt.NDArray[np.bool_]) -> None:
    """What was expected to reach the goal beside what did."""
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01), (0.5, 1.01)):
        rows = (likely >= low) & (likely < high)
        if rows.any():
            print(f"  {name}: {low:.0%} to {min(high, 1):.0%} expected: {rows.sum()} pairs, {likely[rows].mean():.1%} expected, {came_true[rows].mean():.1%} came true")  # fmt: skip


def effects_of(rest: Pairs, train: Pairs, graphs: MeasuredGraphs, model: EffectModel) -> tuple[Floats, Floats]:
    """Effect of the rule of each pair from pairs in `train`, and the variance that is left, `[P]` each."""
    keys, order = train.rules(None), np.argsort(train.rules(None), kind="stable")
    added, variance = np.zeros(len(rest)), np.full(len(rest), model.strength)
    mine = rest.rules(None)
    rules, of = np.unique(mine, return_inverse=True)
    low, high = (np.searchsorted(keys[order], rules, side) for side in ("left", "right"))
    for k in np.flatnonzero(high > low).tolist():
        known, asked = order[low[k] : high[k]], np.flatnonzero(of == k)
        listed = list(zip(train.first[known].tolist(), train.second[known].tolist(), strict=True))
        added[asked], variance[asked] = graphs.effect(listed, rest.first[asked], model)
    return added, variance


def measured_graphs(dataset: GraphDataset, test: npt.NDArray[np.bool_]) -> tuple[MeasuredGraphs, Floats]:
    """The molecules with what copies of the jury that lack each part of `train` say of them, and the numbers of a network that was trained on `train`."""
    train = dataset.subset(np.flatnonzero(~test).tolist())
    assert train.goal is not None
    assert dataset.values is not None
    jury, sentence = train_number_jury(train, train.goal, jobs=2)
    assert jury is not None, sentence
    print(calibrated(jury, train)[1], flush=True)
    folds, batch = np.full(len(dataset), -1), GraphBatch.from_graphs(dataset.graphs)
    folds[~test] = jury.folds
    both = [
        np.stack([jury.numbers(batch, np.full(len(batch), fold), reporting=who) for fold in range(4)])
        for who in (False, True)
    ]
    network = as_goal_classifier(comrecgc.train_classifier(train, NUMBER_TRAINING).model, dataset, train.goal)
    answers = np.mean(both, axis=0)
    return MeasuredGraphs(
        values=dataset.values, answers=answers, folds=folds, likeness=Likeness(batch)
    ), network.numbers(batch)


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


def first_of_each(pair: Ints, described: npt.NDArray[np.bool_], doubt: npt.NDArray[Any]) -> Ints:
    """A row for every pair that is described: the one that is known best."""
    rows = np.flatnonzero(described)
    order = rows[np.lexsort((doubt[rows], pair[rows]))]
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


class Mmpdb:
    """The same of mmpdb's transformations, whose statistics are those of pairs in train; and with the molecule's own measurement, weighed by pairs in train too."""

    def __init__(self, path: Path, table: Table, graphs: MeasuredGraphs) -> None:
        values, test = table.values, table.test
        with path.open(encoding="utf-8") as file:
            rows = np.array([[int(cell) for cell in row.values()] for row in csv.DictReader(file)])
        first, second, self.rule = rows[rows[:, 3] == 0][:, :3].T
        change = values[second] - values[first]
        seen, mixed = ~test[first] & ~test[second], test[first] != test[second]
        size = self.rule.max() + 1
        self.count = np.bincount(self.rule[seen], minlength=size)
        total = np.bincount(self.rule[seen], change[seen], minlength=size)
        pair = np.minimum(first, second) * len(values) + np.maximum(first, second)
        most = np.lexsort((np.arange(size), -self.count))[:NUM_RULES].tolist()
        self.chosen = {
            "100": list(best_rules(self.rule[seen], pair[seen], NUM_RULES)),
            "100 of most pairs": most,
            "all": np.flatnonzero(self.count),
        }
        known = np.flatnonzero(seen & (self.count[self.rule] > 1))  # what the other pairs of a rule leave of each
        rest = change[known] - (total[self.rule] - change)[known] / (self.count[self.rule[known]] - 1)
        starts, ends = np.r_[first[known], second[known]], np.r_[second[known], first[known]]
        _, surprise, unseen = graphs.changes(starts, ends)
        surprise, left = surprise[unseen], np.r_[rest, -rest][unseen]
        self.return_share = float(np.clip(-(surprise @ left) / (surprise @ surprise), 0, 1))
        away = np.where(test[second], 1.0, -1.0)[mixed]
        self.pair, self.rule = pair[mixed], self.rule[mixed]
        self.truth, self.said = away * change[mixed], away * (total / np.maximum(self.count, 1))[self.rule]
        self.cliff = (table.cliff[first] & table.cliff[second])[mixed] & (np.abs(self.truth) >= 1)
        start, end = (np.where(test[second], *each)[mixed] for each in ((first, second), (second, first)))
        self.own = self.said - self.return_share * graphs.changes(start, end)[1]

    def described(self, label: str) -> Ints:
        """A row for every pair that some rules describe."""
        return first_of_each(
            self.pair, np.isin(self.rule, self.chosen[label]) & (self.count[self.rule] > 0), -self.count[self.rule]
        )

    def rows(self, label: str, rows: Ints) -> list[dict[str, Any]]:
        """Figures of some pairs; of the 100 rules of most pairs too."""
        shown = {label: rows} | ({"100 of most pairs": self.described("100 of most pairs")} if label == "100" else {})
        return [
            {
                "method": method,
                "rules": name,
                "pairs": len(np.unique(self.pair)),
                **figures(said[some], self.truth[some], self.cliff[some]),
            }
            for name, some in shown.items()
            for method, said in (("mmpdb", self.said), ("mmpdb and its own measurement", self.own))
        ]


if __name__ == "__main__":
    main()
