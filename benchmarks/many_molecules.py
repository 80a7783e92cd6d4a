"""As many molecules as wanted, one in two with a toxic group, as a folder in the TU format; and a classifier trained on a few of them.

    python benchmarks/many_molecules.py --graphs 1000000 --out million
    comrecgc explain --dataset million/molecules --classifier million/classifier.safetensors --no-panel --out million/run

Molecules are drawn in parts of 10,000, each with its own seed, so that a smaller folder holds the first molecules of a larger one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import numpy as np

from comrecgc.data import load_planted
from comrecgc.data.planted import ELEMENTS, grow_molecule
from comrecgc.models import ClassifierTraining, train_classifier
from comrecgc.molecules import BOND_NAMES

NAME = "molecules"
_PART = 10_000
_FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    folder = arguments.out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    train_classifier(
        load_planted(num_graphs=400),
        ClassifierTraining(epochs=300, patience=60),
        out=arguments.out / "classifier.safetensors",
    )
    write_molecules(folder, arguments.graphs)


def write_molecules(folder: Path, count: int) -> None:
    """Write so many molecules in the TU format."""
    names = [f"{place}  {name}" for place, name in enumerate(ELEMENTS)]
    bonds = [f"{place}  {name}" for place, name in enumerate(BOND_NAMES[:3])]
    readme = ["Node labels were converted to integer values using this map:", "", "Component 0:", *names, ""]
    readme += ["Edge labels were converted to integer values using this map:", "", "Component 0:", *bonds, ""]
    (folder / f"{NAME}_label_readme.txt").write_text("\n".join(readme))
    files = {name: (folder / f"{NAME}_{name}.txt").open("w") for name in _FILES}
    try:
        num_nodes = 0
        for first in range(0, count, _PART):
            num_nodes = _write_part(files, first, min(count, first + _PART), num_nodes)
    finally:
        for file in files.values():
            file.close()


def _write_part(files: Mapping[str, TextIO], first: int, last: int, num_nodes: int) -> int:
    """Write molecules after so many nodes; how many nodes there are then."""
    lines: dict[str, list[str]] = {name: [] for name in files}
    rng = np.random.default_rng([1, first])
    for number in range(first, last):
        graph = grow_molecule(rng, toxic=number % 2 == 0)
        lines["graph_indicator"] += [str(number + 1)] * graph.num_nodes
        lines["graph_labels"].append(str(number % 2))
        lines["node_labels"] += map(str, graph.labels.tolist())
        kinds = [] if graph.edge_labels is None else graph.edge_labels.tolist()
        for (i, j), kind in zip((graph.edges + num_nodes + 1).tolist(), kinds, strict=True):
            lines["A"] += [f"{i}, {j}", f"{j}, {i}"]
            lines["edge_labels"] += [str(kind)] * 2
        num_nodes += graph.num_nodes
    for name, file in files.items():
        file.write("\n".join(lines[name]) + "\n")
    return num_nodes


if __name__ == "__main__":
    main()
