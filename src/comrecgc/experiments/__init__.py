"""The paper's tables and figures, each by one command, beside what it printed."""

from comrecgc.experiments.catalogue import ALL, EXPERIMENTS, Experiment, experiments_of
from comrecgc.experiments.cells import SCALES, CellStore, Scale, scale_of
from comrecgc.experiments.laboratory import Laboratory
from comrecgc.experiments.tables import Entry, Row, Table

__all__ = [
    "ALL",
    "EXPERIMENTS",
    "SCALES",
    "CellStore",
    "Entry",
    "Experiment",
    "Laboratory",
    "Row",
    "Scale",
    "Table",
    "experiments_of",
    "scale_of",
]
