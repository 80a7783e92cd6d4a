"""Common recourses as vectors: pairs within θ, balls and clusters of their vectors, what they cover; the FC problem."""

from comrecgc.recourse.balls import BallCover, covered_inputs
from comrecgc.recourse.clusters import RecourseClustering, dbscan
from comrecgc.recourse.cover import Cover, cover_of
from comrecgc.recourse.fc import (
    RandomisedGreedy,
    best_coverage,
    exact_counterfactuals,
    nearest_counterfactuals,
    nearest_of_all,
    recourse_triples,
    with_counterfactuals,
)
from comrecgc.recourse.pairs import FloatArray, RecoursePairs, normalised_distances, pairs_within, recourse_vectors
from comrecgc.recourse.published import PublishedClustering, PublishedRecourses

__all__ = [
    "BallCover",
    "Cover",
    "FloatArray",
    "PublishedClustering",
    "PublishedRecourses",
    "RandomisedGreedy",
    "RecourseClustering",
    "RecoursePairs",
    "best_coverage",
    "cover_of",
    "covered_inputs",
    "dbscan",
    "exact_counterfactuals",
    "nearest_counterfactuals",
    "nearest_of_all",
    "normalised_distances",
    "pairs_within",
    "recourse_triples",
    "recourse_vectors",
    "with_counterfactuals",
]
