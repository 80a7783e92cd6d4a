"""Other explainers' ways to find counterfactuals, one file each, behind one interface (see `source.py` for how to add one)."""

from comrecgc.baselines.cf_gnnexplainer import CFGNNExplainer
from comrecgc.baselines.cff import CFF
from comrecgc.baselines.dataset import DatasetCounterfactuals
from comrecgc.baselines.gcf_nearest import GcfNearest
from comrecgc.baselines.gcfexplainer import GcfExplainer
from comrecgc.baselines.local_walk import LocalWalk
from comrecgc.baselines.published import PublishedWalk, steps_in_common
from comrecgc.baselines.rcexplainer import RCExplainer
from comrecgc.baselines.registry import BASELINES, baseline_name, make_baseline
from comrecgc.baselines.source import (
    CHECKPOINT,
    Baseline,
    Counterfactual,
    Counterfactuals,
    Subject,
    accepted_graphs,
    embedded,
    explain_blocks,
    explain_each,
)
from comrecgc.baselines.summary import GlobalSummary, summarise

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
    "GcfNearest",
    "GlobalSummary",
    "LocalWalk",
    "PublishedWalk",
    "RCExplainer",
    "Subject",
    "accepted_graphs",
    "baseline_name",
    "embedded",
    "explain_blocks",
    "explain_each",
    "make_baseline",
    "steps_in_common",
    "summarise",
]
