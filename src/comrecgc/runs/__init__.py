"""Explanations as run folders: models found or trained, a search that can be resumed, figures that can be checked."""

from comrecgc.runs.evaluation import Figure, evaluate_run
from comrecgc.runs.folder import RunFolder
from comrecgc.runs.models import ModelFile, obtain_classifier, obtain_embedder
from comrecgc.runs.run import apply_run, explain_dataset

__all__ = [
    "Figure",
    "ModelFile",
    "RunFolder",
    "apply_run",
    "evaluate_run",
    "explain_dataset",
    "obtain_classifier",
    "obtain_embedder",
]
