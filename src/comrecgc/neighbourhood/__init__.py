"""Every one-edit neighbour of a graph, scored: identity, probability of accept, embedding."""

from comrecgc.neighbourhood.keys import neighbour_keys
from comrecgc.neighbourhood.neighbourhood import Neighbourhood
from comrecgc.neighbourhood.scorer import NeighbourhoodScorer

__all__ = ["Neighbourhood", "NeighbourhoodScorer", "neighbour_keys"]
