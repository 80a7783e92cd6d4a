"""Common recourses: pairs within θ, clusters and covers of their vectors, greedy and exact selection."""

from comrecgc.recourse.clustering import RecourseClustering
from comrecgc.recourse.cover import Cover, cover_of
from comrecgc.recourse.exact import exact_counterfactuals, exact_cover
from comrecgc.recourse.fc import (
    RandomisedGreedy,
    best_coverage,
    nearest_counterfactuals,
    recourse_triples,
    with_counterfactuals,
)
from comrecgc.recourse.greedy import GreedySelection, greedy_cover, greedy_cover_packed, pack
from comrecgc.recourse.pairs import RecoursePairs, pairs_within

__all__ = [
    "Cover",
    "GreedySelection",
    "RandomisedGreedy",
    "RecourseClustering",
    "RecoursePairs",
    "best_coverage",
    "cover_of",
    "exact_counterfactuals",
    "exact_cover",
    "greedy_cover",
    "greedy_cover_packed",
    "nearest_counterfactuals",
    "pack",
    "pairs_within",
    "recourse_triples",
    "with_counterfactuals",
]
