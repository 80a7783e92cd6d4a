"""Datasets: the paper's benchmarks, TU archives, PyG graphs, tables of molecules, and the planted set."""

from comrecgc.data.attributes import Attributes
from comrecgc.data.dataset import DatasetIndex, GraphDataset, GraphReading
from comrecgc.data.goals import Goal, Numbers
from comrecgc.data.loading import BENCHMARKS, from_tu_folder, load_benchmark, load_dataset, paper_theta
from comrecgc.data.planted import PLANTED, PlantedDataset, find_toxicophores, load_planted
from comrecgc.data.pyg import from_pyg
from comrecgc.data.smiles import TableReading, from_smiles_table
from comrecgc.data.tables import is_table

__all__ = [
    "BENCHMARKS", "PLANTED", "Attributes", "DatasetIndex", "Goal", "GraphDataset", "GraphReading", "Numbers",
    "PlantedDataset", "TableReading", "find_toxicophores", "from_pyg", "from_smiles_table", "from_tu_folder",
    "is_table", "load_benchmark", "load_dataset", "load_planted", "paper_theta",
]  # fmt: skip
