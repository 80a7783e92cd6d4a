"""Maximum coverage: at most R sets that together hold the most items, greedily or exactly, and bounds on the best."""

from comrecgc.selection.exact import exact_cover, lp_bound, solve_binary
from comrecgc.selection.greedy import Choice, Incidence, greedy_cover
from comrecgc.selection.packed import packed_cover, two_round_cover

__all__ = [
    "Choice", "Incidence", "exact_cover", "greedy_cover", "lp_bound", "packed_cover", "solve_binary", "two_round_cover",
]  # fmt: skip
