"""Other explainers' ways to find counterfactuals, one file each, behind one interface (see `source.py` for how to add one)."""

from comrecgc.baselines.dataset import DatasetCounterfactuals
from comrecgc.baselines.registry import BASELINES, baseline_name, make_baseline
from comrecgc.baselines.source import (
    CHECKPOINT,
    Baseline,
    Counterfactual,
    Counterfactuals,
    Subject,
    accepted_graphs,
    explain_each,
)

__all__ = [
    "BASELINES",
    "CHECKPOINT",
    "Baseline",
    "Counterfactual",
    "Counterfactuals",
    "DatasetCounterfactuals",
    "Subject",
    "accepted_graphs",
    "baseline_name",
    "explain_each",
    "make_baseline",
]
