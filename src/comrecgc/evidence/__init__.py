"""Reasons to believe an explanation, or not, beyond the word of the model that is explained."""

from comrecgc.evidence.matched_pairs import LabelledGraphs, MatchedPairs

__all__ = ["LabelledGraphs", "MatchedPairs"]
