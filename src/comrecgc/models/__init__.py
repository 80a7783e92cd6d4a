"""Classifiers and embedders: the paper's networks, their training, adapters for any model, panels, juries, and edit distances."""

from comrecgc.models.adapter import AdaptedClassifier, as_classifier, check_own_data, over_dataset
from comrecgc.models.classifier import Agreement, Classifier, Predictions, log_odds, predict
from comrecgc.models.edge_weights import WeightedGraphs, check_edge_weights, weighted_graphs
from comrecgc.models.edit_distance import edit_path, map_nodes
from comrecgc.models.greed import (
    Embedder,
    EmbedderTraining,
    Greed,
    as_embedder,
    load_embedder,
    obtain_embedder,
    train_embedder,
)
from comrecgc.models.jury import Jury, JuryReport, Likeness, mixed_keys, node_colours, train_jury
from comrecgc.models.networks import ARCHITECTURES, GraphClassifier, load_classifier, save_classifier
from comrecgc.models.numbers import (
    EffectModel,
    GoalClassifier,
    MeasuredGraphs,
    NumberJury,
    as_goal_classifier,
    train_number_jury,
    with_sources,
)
from comrecgc.models.panel import Panel, PanelMember, PanelTraining, load_panel, obtain_panel, save_panel
from comrecgc.models.training import (
    ClassifierTraining,
    ModelFile,
    checksum,
    data_fingerprint,
    obtain_classifier,
    split_dataset,
    train_classifier,
)

__all__ = [
    "ARCHITECTURES", "AdaptedClassifier", "Agreement", "Classifier", "ClassifierTraining", "EffectModel",
    "Embedder", "EmbedderTraining", "GoalClassifier", "GraphClassifier", "Greed", "Jury", "JuryReport", "Likeness",
    "MeasuredGraphs", "ModelFile", "NumberJury", "Panel", "PanelMember", "PanelTraining", "Predictions",
    "WeightedGraphs", "as_classifier", "as_embedder", "as_goal_classifier", "check_edge_weights", "check_own_data",
    "checksum", "data_fingerprint", "edit_path", "load_classifier", "load_embedder", "load_panel", "log_odds",
    "map_nodes", "mixed_keys", "node_colours", "obtain_classifier", "obtain_embedder", "obtain_panel",
    "over_dataset", "predict", "save_classifier", "save_panel", "split_dataset", "train_classifier", "train_embedder",
    "train_jury", "train_number_jury", "weighted_graphs", "with_sources",
]  # fmt: skip
