"""Graph edit distance between labelled graphs, unit costs: bounds, exact search, and edit paths."""

from comrecgc.embedding.ged.bounds import branch_bound, label_bound, linear_bound
from comrecgc.embedding.ged.interval import EFFORTS, Effort, GEDInterval, ged_interval, ged_intervals
from comrecgc.embedding.ged.paths import PathPair, edit_path, path_pairs

__all__ = [
    "EFFORTS",
    "Effort",
    "GEDInterval",
    "PathPair",
    "branch_bound",
    "edit_path",
    "ged_interval",
    "ged_intervals",
    "label_bound",
    "linear_bound",
    "path_pairs",
]
