"""Reasons to believe an explanation, or not, beyond the word of the model that is explained."""

from comrecgc.evidence.controls import Ignorant, explained, random_weights, shuffled_labels
from comrecgc.evidence.gathering import SECOND_PANEL, gather
from comrecgc.evidence.known_truth import (
    DIFFICULTIES,
    PlantedTruth,
    PublishedGroup,
    compare_with_planted,
    kazius_groups,
    planted,
    published_changes,
)
from comrecgc.evidence.matched_pairs import LabelledGraphs, MatchedPairs
from comrecgc.evidence.other_models import Answer, ModelSummary, answers
from comrecgc.evidence.plausibility import diversity, plausibility
from comrecgc.evidence.random_rules import RandomRules, random_rules
from comrecgc.evidence.records import EVIDENCE, ControlEvidence, Evidence, RecourseEvidence
from comrecgc.evidence.subject import Subject
from comrecgc.evidence.unseen import Unseen, scaffold_folds, scaffold_key, unseen
from comrecgc.evidence.verdict import Finding, Verdict, judge

__all__ = [
    "DIFFICULTIES",
    "EVIDENCE",
    "SECOND_PANEL",
    "Answer",
    "ControlEvidence",
    "Evidence",
    "Finding",
    "Ignorant",
    "LabelledGraphs",
    "MatchedPairs",
    "ModelSummary",
    "PlantedTruth",
    "PublishedGroup",
    "RandomRules",
    "RecourseEvidence",
    "Subject",
    "Unseen",
    "Verdict",
    "answers",
    "compare_with_planted",
    "diversity",
    "explained",
    "gather",
    "judge",
    "kazius_groups",
    "planted",
    "plausibility",
    "published_changes",
    "random_rules",
    "random_weights",
    "scaffold_folds",
    "scaffold_key",
    "shuffled_labels",
    "unseen",
]
