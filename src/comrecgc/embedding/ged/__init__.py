"""Graph edit distance between labelled graphs, unit costs: brackets, exact search, and edit paths."""

from comrecgc.embedding.ged.interval import EFFORTS, Effort, GEDInterval, ged_interval, ged_intervals
from comrecgc.embedding.ged.paths import edit_path

__all__ = [
    "EFFORTS",
    "Effort",
    "GEDInterval",
    "edit_path",
    "ged_interval",
    "ged_intervals",
]
