"""Every one-edit neighbour of a graph, scored: identity, probability of accept, embedding."""

from comrecgc.neighbourhood.neighbourhood import FloatArray, Neighbourhood, neighbour_keys
from comrecgc.neighbourhood.scorer import NeighbourhoodScorer

__all__ = ["FloatArray", "Neighbourhood", "NeighbourhoodScorer", "neighbour_keys"]
