"""Explanations as run folders: models found or trained, a search that can be resumed, figures that can be checked."""

from comrecgc.pipeline import load_explanation, stored_settings
from comrecgc.runs.choosing import choose_again
from comrecgc.runs.compilation import Compilation
from comrecgc.runs.evaluation import (
    BORDERLINE,
    Witnesses,
    evaluate_run,
    load_witnesses,
    recheck,
    run_models,
)
from comrecgc.runs.evidence import load_evidence, rewrite_report, run_evidence
from comrecgc.runs.figures import Figure
from comrecgc.runs.folder import REPORT, SUMMARY, WITNESSES, RunFolder
from comrecgc.runs.merging import merge_shards
from comrecgc.runs.models import ModelFile, obtain_classifier, obtain_embedder
from comrecgc.runs.run import apply_run, explain_dataset
from comrecgc.runs.sources import OWN_SOURCES, ComparedSource, compare_sources, source_settings

__all__ = [
    "BORDERLINE",
    "OWN_SOURCES",
    "REPORT",
    "SUMMARY",
    "WITNESSES",
    "ComparedSource",
    "Compilation",
    "Figure",
    "ModelFile",
    "RunFolder",
    "Witnesses",
    "apply_run",
    "choose_again",
    "compare_sources",
    "evaluate_run",
    "explain_dataset",
    "load_evidence",
    "load_explanation",
    "load_witnesses",
    "merge_shards",
    "obtain_classifier",
    "obtain_embedder",
    "recheck",
    "rewrite_report",
    "run_evidence",
    "run_models",
    "source_settings",
    "stored_settings",
]
