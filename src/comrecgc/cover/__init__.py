"""Maximum cover, greedy, exact and with bounds; clusters and Δ-balls; FCR and FC."""

from comrecgc.cover.balls import BallCover, covered_inputs
from comrecgc.cover.clusters import (
    PublishedClustering,
    RecourseClustering,
    few_counterfactuals,
    nearest_counterfactuals,
    nearest_of_all,
    with_counterfactuals,
)
from comrecgc.cover.greedy import Choice, exact_cover, greedy_cover, incidence_of, lp_bound, packed_cover
from comrecgc.cover.pairs import (
    Cover,
    FloatArray,
    Reason,
    RecoursePairs,
    cover_of,
    normalised_distances,
    pairs_within,
    recourse_vectors,
)
