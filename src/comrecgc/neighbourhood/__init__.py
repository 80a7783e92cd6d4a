"""Every one-edit neighbour of a graph, scored: identity, probability of accept, embedding."""

from comrecgc.neighbourhood.neighbourhood import FloatArray, Neighbourhood, first_of_each, neighbour_keys
from comrecgc.neighbourhood.scorer import NeighbourhoodScorer

__all__ = ["FloatArray", "Neighbourhood", "NeighbourhoodScorer", "first_of_each", "neighbour_keys"]
