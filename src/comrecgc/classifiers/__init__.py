"""The graph classifiers of the paper and their training, and any model of yours as the classifier to be explained."""

from comrecgc.classifiers.adapter import as_classifier
from comrecgc.classifiers.agreement import Agreement
from comrecgc.classifiers.checkpoint import load_classifier, save_classifier
from comrecgc.classifiers.classifier import Classifier, Predictions, predict
from comrecgc.classifiers.edge_weights import WeightedGraphs, check_edge_weights, weighted_graphs
from comrecgc.classifiers.model import ARCHITECTURES, GraphClassifier
from comrecgc.classifiers.panel import Panel, PanelMember, PanelTraining, load_panel, obtain_panel
from comrecgc.classifiers.training import (
    ClassifierTraining,
    EpochReport,
    Split,
    TrainedClassifier,
    split_dataset,
    train_classifier,
)

__all__ = [
    "ARCHITECTURES",
    "Agreement",
    "Classifier",
    "ClassifierTraining",
    "EpochReport",
    "GraphClassifier",
    "Panel",
    "PanelMember",
    "PanelTraining",
    "Predictions",
    "Split",
    "TrainedClassifier",
    "WeightedGraphs",
    "as_classifier",
    "check_edge_weights",
    "load_classifier",
    "load_panel",
    "obtain_panel",
    "predict",
    "save_classifier",
    "split_dataset",
    "train_classifier",
    "weighted_graphs",
]
