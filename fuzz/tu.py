"""The reader of TU folders and zip archives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from comrecgc.data import GraphDataset
from comrecgc.data.loading import from_tu_folder
from fuzz.archives import hostile_archive
from fuzz.choices import Choices
from fuzz.contract import emptied
from fuzz.mutation import TEXTS, mutated_bytes, mutated_table
from fuzz.validity import check_dataset

NAMES_FILE = True
MAX_SECONDS = 5.0

FILES = {
    "T_A.txt": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "T_graph_indicator.txt": "1\n1\n1\n2\n2\n3\n",
    "T_graph_labels.txt": "1\n-1\n1\n",
    "T_node_labels.txt": "0\n1\n0\n2\n1\n0\n",
    "T_edge_labels.txt": "0\n0\n1\n1\n0\n0\n",
    "T_label_readme.txt": "Node labels were converted to integer values using this map:\n\nComponent 0:\n\t0\tC\n\t1\tO\n\t2\tN\n"
    "\n\nEdge labels were converted to integer values using this map:\n\nComponent 0:\n\t0\t1\n\t1\t2\n\n\n"
    "Class labels were converted to integer values using this map:\n\n\t0\ta\n\t1\tb\n",
}


def write(choices: Choices, folder: Path) -> None:
    """A TU folder, or an archive of one, with something wrong."""
    files = hostile_files(choices)
    if choices.chance(0.5):
        (folder / "T.zip").write_bytes(hostile_archive(choices, files, folder.parent))
        return
    (folder / "T").mkdir()
    for name, content in files.items():
        if "/" not in name and "\0" not in name and len(name) < 200:
            (folder / "T" / name).write_bytes(content)


def hostile_files(choices: Choices) -> dict[str, bytes]:
    """The files of a small dataset, one of them changed, left out or misnamed."""
    files = {name: text.encode() for name, text in FILES.items()}
    for name in list(files)[3:]:
        if choices.chance(0.2):
            del files[name]
    name = choices.one_of(list(files))
    match choices.below(8):
        case 0:
            prefix = choices.one_of(TEXTS).encode("utf-8", "ignore").decode()
            files[prefix + choices.one_of(("_A.txt", name))] = files.pop(name)
        case 1 | 2:
            files[name] = mutated_bytes(choices, files[name])
        case 3 if choices.chance(0.2):
            files[name] = choices.one_of((b"1\n", b"1,", b"0", b"\n")) * (1 << 20)
        case _:
            files[name] = mutated_table(choices, FILES[name]).encode("utf-8", "surrogatepass")
    return files


def read(folder: Path) -> None:
    """Read the dataset, and read it again after writing it."""
    path = next(folder.iterdir())
    dataset = from_tu_folder(path)
    check_dataset(dataset)
    again = from_tu_folder(written(dataset, folder.parents[1] / "again"))
    assert again.classes.tolist() == dataset.classes.tolist()
    assert list(again) == list(dataset)


def written(dataset: GraphDataset, folder: Path) -> Path:
    """The dataset as a TU folder, edge labels left out."""
    sizes = [graph.num_nodes for graph in dataset]
    starts = np.cumsum([0, *sizes[:-1]])
    edges = [(edge + start + 1).tolist() for graph, start in zip(dataset, starts, strict=True) for edge in graph.edges]
    columns: Mapping[str, list[list[int]]] = {
        "A": [pair for i, j in edges for pair in ([i, j], [j, i])],
        "graph_indicator": [[place + 1] for place, size in enumerate(sizes) for _ in range(size)],
        "graph_labels": [[int(value)] for value in dataset.classes],
        "node_labels": [[label] for graph in dataset for label in graph.labels.tolist()],
    }
    emptied(folder)
    for name, rows in columns.items():
        (folder / f"T_{name}.txt").write_text("".join(", ".join(map(str, row)) + "\n" for row in rows))
    return folder
