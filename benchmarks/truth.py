"""What explainers promise and what comes true: python benchmarks/truth.py --data-root DATASETS [--tasks ester logp …] [--sizes 1600] [--out FILE.csv]

Every task has an oracle that labels any graph, changed ones included: patterns and properties that rdkit computes on molecules of ZINC, neighbourhoods on the
graphs of NCI1, planted motifs. A classifier is trained on the labels and explained; the same table of rules is chosen from in three ways: for coverage, for truth
(the default), and by the oracle itself, which is the most that the table can do. `--explainers` runs the paper's vectors and the baselines on the same model.
Columns: share of the true rejects for which a result is claimed, share of the results shown that are true, share truly covered, what the run expected, seconds.
Finished rows are kept in the CSV, and not computed again.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import comrecgc
from comrecgc.algorithms.base import Algorithm
from comrecgc.algorithms.rules.choice import LEAST_TRUTH, RuleFilter, choose
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.data import GraphDataset
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.molecules import to_smiles

TABLE = "truth/ester-benzene.csv"
COLUMNS = (
    "task",
    "size",
    "chosen",
    "rejects",
    "claimed",
    "true_share",
    "truly_covered",
    "of_oracle",
    "expected",
    "confirmed",
    "seconds",
)

Oracle = Callable[[Graph], bool]
"""Whether a graph is truly of the class accept."""


@dataclass(frozen=True)
class Task:
    """Graphs whose true class is known, whatever is changed.

    Args:
        dataset: Graphs with the classes that models are trained on.
        oracle: The true class of any graph.
    """

    dataset: GraphDataset
    oracle: Oracle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1600])
    parser.add_argument("--explainers", action="store_true", help="run vectors and baselines on the same models too")
    parser.add_argument("--max-changes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("truth.csv"))
    parser.add_argument("--chart", type=Path, help="draw the rows of the CSV, and measure nothing")
    options = parser.parse_args()
    if options.chart is not None:
        draw(read(options.out), options.chart)
        return
    done = {(row["task"], int(row["size"]), row["chosen"]) for row in read(options.out)}
    print(" ".join(f"{name:>12}" for name in COLUMNS))
    for size in options.sizes:
        for name in options.tasks:
            wanted = ["coverage", "truth", "oracle", *(EXPLAINERS if options.explainers else ())]
            if all((name, size, chosen) in done for chosen in wanted):
                continue
            for row in measure(name, size, options):
                if (name, size, row["chosen"]) not in done:
                    keep(options.out, row)
                print(" ".join(f"{shown(row[column]):>12}" for column in COLUMNS), flush=True)


def read(path: Path) -> list[dict[str, str]]:
    """Rows that are there already."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(path: Path, row: dict[str, Any]) -> None:
    """Add a row to the CSV."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow({name: shown(row[name]) for name in COLUMNS})


def shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def draw(rows: Sequence[dict[str, str]], path: Path) -> None:
    """What is promised and what comes true, task by task, as bars."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "truth"
    from matplotlib import pyplot as plt

    rows = [row for row in rows if row["size"] == "1600"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    known = {(row["task"], row["chosen"]): row for row in rows}
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(tasks) + 1.2))
    for chosen, shift, colour in (("coverage", 0.2, "#c96a4b"), ("truth", -0.2, "#3b7a57")):
        places = [len(tasks) - k + shift for k in range(len(tasks))]
        claimed = [100 * float(known[task, chosen]["claimed"]) for task in tasks]
        true = [100 * float(known[task, chosen]["truly_covered"]) for task in tasks]
        axes.barh(places, claimed, 0.36, color=colour, alpha=0.3, label=f"chosen for {chosen}: promised")
        axes.barh(places, true, 0.36, color=colour, label=f"chosen for {chosen}: true")
    most = [100 * float(known[task, "oracle"]["truly_covered"]) for task in tasks]
    axes.scatter(
        most,
        [len(tasks) - k for k in range(len(tasks))],
        marker="|",
        s=320,
        color="black",
        label="the most that the table can do",
    )
    axes.set_yticks([len(tasks) - k for k in range(len(tasks))], tasks)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the graphs that are truly rejected")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.08), ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def measure(name: str, size: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for every way to choose, and every explainer."""
    task = TASKS[name](options.data_root, size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.safetensors"
        comrecgc.train_classifier(task.dataset, comrecgc.ClassifierTraining(), out=path)
        begin = time.perf_counter()
        rules = comrecgc.Rules(max_changes=options.max_changes)
        explainer = comrecgc.CommonRecourseExplainer(path, rules, random_state=0).fit(task.dataset)
        seconds = time.perf_counter() - begin
        yield from rule_rows(name, size, task, explainer, seconds)
        for other, algorithm in EXPLAINERS.items() if options.explainers else ():
            begin = time.perf_counter()
            found = comrecgc.CommonRecourseExplainer(path, algorithm, random_state=0).fit(task.dataset).explanation_
            yield explained_row(name, size, other, task, found, time.perf_counter() - begin)


def rule_rows(name: str, size: int, task: Task, explainer: Any, seconds: float) -> Iterator[dict[str, Any]]:
    """Rules of the same table, chosen in three ways."""
    mined, explanation = explainer.mined_, explainer.explanation_
    truth = entry_truth(mined, task.oracle)
    is_reject = np.array([not task.oracle(graph) for graph in mined.rejects.graphs])
    best = replace(mined.table, entries=replace(mined.table.entries, truth=(100 * truth).astype(np.int8)))
    own = RuleFilter(min_truth=0.5)
    ceiling = covered_truth(best, choose(best, 10, own).rules, own.counts(best), truth, is_reject)
    wishes = {"coverage": RuleFilter(), "truth": RuleFilter(min_truth=LEAST_TRUTH)}
    for chosen, wish in wishes.items():
        rows = choose(mined.table, 10, wish).rules
        found = covered_truth(mined.table, rows, wish.counts(mined.table), truth, is_reject)
        expected = explanation.metrics.get("expected_true") if chosen == "truth" else None
        confirmed = explanation.metrics.get("jury_confirmed") if chosen == "truth" else None
        yield row_of(name, size, chosen, is_reject, found, ceiling, expected, confirmed, seconds)
    yield row_of(name, size, "oracle", is_reject, ceiling, ceiling, None, None, seconds)


def entry_truth(mined: MinedRules, oracle: Oracle) -> npt.NDArray[np.bool_]:
    """Whether the result of every entry of a table is truly accepted, `[E]`."""
    entries, known, truth = mined.table.entries, dict[bytes, bool](), []
    for start in range(0, len(entries), 5000):
        part = slice(start, start + 5000)
        for place, change, graph in zip(
            entries.input[part], entries.change[part], mined.scorer.built(entries.input[part], entries.change[part].astype(np.int32))[0], strict=True
        ):  # fmt: skip
            key = place.tobytes() + change.tobytes()
            if key not in known:
                known[key] = oracle(graph)
            truth.append(known[key])
    return np.array(truth, bool)


def covered_truth(
    table: Any, rows: npt.NDArray[np.int64], counts: npt.NDArray[np.bool_], truth: npt.NDArray[np.bool_], is_reject: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int8]:  # fmt: skip
    """Of every true reject: 1 if the result shown is true, 0 if it is not, -1 if there is none."""
    found = np.full(table.num_inputs, -1, np.int8)
    for row in rows[::-1].tolist():
        entries = table.entries_of(row)
        entries = entries[counts[entries]]
        found[table.entries.input[entries]] = truth[entries]
    return found[is_reject]


def explained_row(
    name: str, size: int, chosen: str, task: Task, explanation: Explanation, seconds: float
) -> dict[str, Any]:
    """What another explainer claims, and what of it is true."""
    found = {index: -1 for index, it in explanation.inputs.items() if not task.oracle(it.graph)}
    for recourse in explanation.recourses:
        for member in recourse.covered:
            if member.input in found:
                found[member.input] = int(task.oracle(member.counterfactual))
    values = np.array(list(found.values()), np.int8)
    return row_of(name, size, chosen, np.ones(len(values), bool), values, None, None, None, seconds)


def row_of(
    name: str, size: int, chosen: str, is_reject: npt.NDArray[np.bool_], found: npt.NDArray[np.int8], ceiling: npt.NDArray[np.int8] | None,
    expected: float | None, confirmed: float | None, seconds: float,
) -> dict[str, Any]:  # fmt: skip
    claimed = found >= 0
    truly = float((found == 1).mean()) if len(found) else 0.0
    most = 0.0 if ceiling is None or not len(ceiling) else float((ceiling == 1).mean())
    return {
        "task": name, "size": size, "chosen": chosen, "rejects": int(is_reject.sum()), "claimed": float(claimed.mean()) if len(found) else 0.0,
        "true_share": float((found[claimed] == 1).mean()) if claimed.any() else "-", "truly_covered": truly,
        "of_oracle": truly / most if most else "-", "expected": "-" if expected is None else expected,
        "confirmed": "-" if confirmed is None else confirmed, "seconds": round(seconds),
    }  # fmt: skip


# Molecules: patterns and properties that rdkit computes.


def molecules(reject: Callable[[Any], bool], *, noise: float = 0.0, decoy: bool = False) -> Callable[[Path, int], Task]:
    """A task on molecules of ZINC.

    Args:
        reject: Whether a molecule is truly rejected.
        noise: Share of labels that are wrong.
        decoy: Draw molecules of the part in which esters and benzene rings go together.
    """

    def make(root: Path, size: int) -> Task:
        from rdkit import Chem

        def oracle_of_molecule(smiles: str) -> bool:
            molecule = Chem.MolFromSmiles(smiles)
            return molecule is not None and not reject(molecule)

        with (root / TABLE).open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if not decoy or row["train"] == "True"]
        rng = np.random.default_rng(7)
        smiles = [rows[i]["smiles"] for i in rng.permutation(len(rows))[:size]]
        labels = np.array([oracle_of_molecule(text) for text in smiles])
        labels ^= rng.random(len(labels)) < noise
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "molecules.csv"
            lines = [f"{text},{int(label)}" for text, label in zip(smiles, labels, strict=True)]
            path.write_text("\n".join(["smiles,accepted", *lines]), encoding="utf-8")
            dataset = comrecgc.load_dataset(path)

        def oracle(graph: Graph) -> bool:
            try:
                return oracle_of_molecule(to_smiles(graph, dataset.label_names))
            except (comrecgc.InputError, RuntimeError, ValueError):  # no molecule
                return False

        return Task(dataset, oracle)

    return make


def holds(smarts: str) -> Callable[[Any], bool]:
    """Whether a molecule holds a pattern."""

    def check(molecule: Any) -> bool:
        from rdkit import Chem

        return bool(molecule.HasSubstructMatch(Chem.MolFromSmarts(smarts)))

    return check


ESTER, BENZENE, CARBONYL = holds("[#6][CX3](=O)[OX2H0][#6]"), holds("c1ccccc1"), holds("[CX3]=[OX1]")
HALOGEN, AMIDE, SULFUR, NITRO = holds("[F,Cl]"), holds("[NX3][CX3](=O)[#6]"), holds("[#16]"), holds("[N+](=O)[O-]")


def log_p(molecule: Any) -> float:
    from rdkit.Chem import Crippen

    return float(Crippen.MolLogP(molecule))


def refractivity(molecule: Any) -> float:
    from rdkit.Chem import Crippen

    return float(Crippen.MolMR(molecule))


def num_rings(molecule: Any) -> int:
    return int(molecule.GetRingInfo().NumRings())


# Graphs without chemistry.


def neighbourhood_task(root: Path, size: int) -> Task:
    """Graphs of NCI1 as plain labelled graphs: rejected if some oxygen has two neighbours, or a nitrogen has three."""
    full = comrecgc.load_dataset("nci1", root=root)
    names = full.label_names
    oxygen, nitrogen = names.index("O"), names.index("N")

    def oracle(graph: Graph) -> bool:
        degrees = graph.degrees()
        return not (((graph.labels == oxygen) & (degrees == 2)) | ((graph.labels == nitrogen) & (degrees == 3))).any()

    rows = np.random.default_rng(7).permutation(len(full))[:size].tolist()
    graphs = tuple(full.graphs[i] for i in rows)
    plain = tuple(f"kind {k}" for k in range(len(names)))
    return Task(labelled(graphs, oracle, plain), oracle)


def contains(graph: Graph, motif: Any, *, induced: bool = False) -> bool:
    """Whether a motif is part of a graph; induced: without further edges among its nodes."""
    import networkx as nx

    plain: nx.Graph[int] = nx.Graph(graph.edges.tolist())
    matcher: Any = nx.algorithms.isomorphism.GraphMatcher(plain, motif)
    return bool(matcher.subgraph_is_isomorphic() if induced else matcher.subgraph_is_monomorphic())


def planted(rng: np.random.Generator, motifs: Sequence[Any], num_base: int) -> Graph:
    """A tree grown by preferential attachment, with motifs tied to it by an edge each."""
    import networkx as nx

    joined: Any = nx.barabasi_albert_graph(num_base, 1, seed=int(rng.integers(2**31)))
    for motif in motifs:
        first, num = len(joined), len(motif)
        joined = nx.compose(joined, nx.convert_node_labels_to_integers(motif, first_label=first))
        joined.add_edge(int(rng.integers(num_base)), first + int(rng.integers(num)))
    edges = np.array(sorted(tuple(sorted(edge)) for edge in joined.edges), np.int32)
    return Graph(np.zeros(len(joined), np.int32), edges)


def motif_task(root: Path, size: int, *, wants_house: bool = False) -> Task:  # noqa: ARG001  # no file is needed
    """Trees with a house or a five-cycle, as BA-2Motifs: rejected with a house, or without one."""
    import networkx as nx

    rng = np.random.default_rng(7)
    house: Any = nx.house_graph()

    def oracle(graph: Graph) -> bool:
        return contains(graph, house) == wants_house

    graphs = [planted(rng, [house if k % 2 else nx.cycle_graph(5)], 15) for k in range(size)]
    return Task(labelled(graphs, oracle, ("node",)), oracle)


def shapes_task(root: Path, size: int, *, wants_two: bool = True) -> Task:  # noqa: ARG001  # no file is needed
    """Trees with houses, wheels and grids, as MultiShapes: accepted if exactly two of the three kinds are there, or the other way round."""
    import networkx as nx

    rng = np.random.default_rng(7)
    shapes: list[Any] = [nx.house_graph(), nx.wheel_graph(6), nx.grid_2d_graph(3, 3)]

    def oracle(graph: Graph) -> bool:
        kinds = sum(contains(graph, shape, induced=k == 0) for k, shape in enumerate(shapes))
        return (kinds == 2) == wants_two

    graphs = []
    for k in range(size):
        num = 2 if k % 2 else int(rng.choice([0, 1, 3], p=[0.2, 0.4, 0.4]))
        graphs.append(planted(rng, [shapes[k] for k in rng.permutation(3)[:num]], 15))
    return Task(labelled(graphs, oracle, ("node",)), oracle)


def colour_task(root: Path, size: int) -> Task:  # noqa: ARG001  # no file is needed
    """Coloured trees: rejected if a red node touches a blue one; a green node goes with reject nine times in ten, and means nothing."""
    rng = np.random.default_rng(7)
    red, blue, green = 0, 1, 2

    def oracle(graph: Graph) -> bool:
        ends = graph.labels[graph.edges]
        return not ((ends.min(axis=1) == red) & (ends.max(axis=1) == blue)).any()

    graphs = []
    for _ in range(size):
        num = int(rng.integers(10, 18))
        labels = rng.choice([red, blue, 3, 4], num, p=[0.12, 0.12, 0.38, 0.38]).astype(np.int32)
        edges = np.array([[int(rng.integers(k)), k] for k in range(1, num)], np.int32)
        graph = Graph(labels, edges)
        if rng.random() < (0.1 if oracle(graph) else 0.9):
            labels[int(rng.choice(np.flatnonzero(labels > blue)))] = green
        graphs.append(Graph(labels, edges))
    return Task(labelled(graphs, oracle, ("red", "blue", "green", "grey", "white")), oracle)


def labelled(graphs: Sequence[Graph], oracle: Oracle, names: tuple[str, ...]) -> GraphDataset:
    """Graphs with the classes that the oracle gives."""
    classes = np.array([oracle(graph) for graph in graphs], np.int8)
    return GraphDataset(name="truth", graphs=tuple(graphs), classes=classes, label_names=names)


TASKS: dict[str, Callable[[Path, int], Task]] = {
    "ester": molecules(ESTER),
    "carbonyl-and-halogen": molecules(lambda it: CARBONYL(it) and HALOGEN(it)),
    "sulfur-or-nitro": molecules(lambda it: SULFUR(it) or NITRO(it)),
    "halogen-not-amide": molecules(lambda it: HALOGEN(it) and not AMIDE(it)),
    "logp": molecules(lambda it: log_p(it) >= 2.5),
    "refractivity": molecules(lambda it: refractivity(it) >= 80),
    "rings": molecules(lambda it: num_rings(it) >= 3),
    "decoy": molecules(ESTER, decoy=True),
    "noise-5": molecules(lambda it: CARBONYL(it) and HALOGEN(it), noise=0.05),
    "noise-10": molecules(lambda it: CARBONYL(it) and HALOGEN(it), noise=0.1),
    "neighbourhoods": neighbourhood_task,
    "motifs": motif_task,
    "motifs-reverse": partial(motif_task, wants_house=True),
    "shapes": shapes_task,
    "shapes-reverse": partial(shapes_task, wants_two=False),
    "green-decoy": colour_task,
}

EXPLAINERS: dict[str, Algorithm] = {
    "vectors": comrecgc.Vectors(),
    "gcfexplainer": comrecgc.GCFExplainer(num_steps=2000),
    "rcexplainer": comrecgc.RCExplainer(),
    "cff": comrecgc.CFF(),
    "cf-gnnexplainer": comrecgc.CFGNNExplainer(),
}
"""Explainers beside; all else of them is their default."""


if __name__ == "__main__":
    main()
