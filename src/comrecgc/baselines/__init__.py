"""Other explainers' ways to find counterfactuals, one file each, behind one interface (see `source.py` for how to add one)."""

from comrecgc.baselines.cf_gnnexplainer import CFGNNExplainer
from comrecgc.baselines.cff import CFF
from comrecgc.baselines.dataset import DatasetCounterfactuals
from comrecgc.baselines.gcfexplainer import GcfExplainer
from comrecgc.baselines.published import PublishedWalk
from comrecgc.baselines.rcexplainer import RCExplainer
from comrecgc.baselines.registry import BASELINES, baseline_name, make_baseline
from comrecgc.baselines.source import (
    CHECKPOINT,
    Baseline,
    Counterfactual,
    Counterfactuals,
    Subject,
    accepted_graphs,
    explain_blocks,
    explain_each,
)

__all__ = [
    "BASELINES",
    "CFF",
    "CHECKPOINT",
    "Baseline",
    "CFGNNExplainer",
    "Counterfactual",
    "Counterfactuals",
    "DatasetCounterfactuals",
    "GcfExplainer",
    "PublishedWalk",
    "RCExplainer",
    "Subject",
    "accepted_graphs",
    "baseline_name",
    "explain_blocks",
    "explain_each",
    "make_baseline",
]
