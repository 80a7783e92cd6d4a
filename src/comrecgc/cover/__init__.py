"""comrecgc.cover."""

from comrecgc.cover.balls import BallCover, covered_inputs
from comrecgc.cover.clusters import PublishedClustering, RecourseClustering
from comrecgc.cover.cover import Cover, cover_of
from comrecgc.cover.exact import exact_cover, lp_bound
from comrecgc.cover.fc import (
    best_coverage,
    exact_counterfactuals,
    nearest_counterfactuals,
    nearest_of_all,
    with_counterfactuals,
)
from comrecgc.cover.greedy import greedy_cover, packed_cover
from comrecgc.cover.metrics import Reason
from comrecgc.cover.pairs import FloatArray, RecoursePairs, normalised_distances, pairs_within, recourse_vectors
