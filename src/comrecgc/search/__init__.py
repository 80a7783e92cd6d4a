"""Search beyond the paper: counterfactuals that share few recourses, found by walking towards what others share."""

from comrecgc.search.search import DirectedSearch
from comrecgc.search.state import SearchProgress, SearchState

__all__ = ["DirectedSearch", "SearchProgress", "SearchState"]
