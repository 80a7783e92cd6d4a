"""comrecgc.data."""

from comrecgc.data.benchmarks import paper_theta
from comrecgc.data.dataset import DatasetIndex, GraphDataset, GraphReading
from comrecgc.data.loading import load_dataset
from comrecgc.data.planted import PlantedDataset, find_toxicophores, load_planted
from comrecgc.data.pyg import from_pyg
from comrecgc.data.smiles import TableReading
from comrecgc.data.tables import is_table
