"""Scores of changed graphs: exact incremental recomputation for the package's networks, batches for any other model."""

from comrecgc.scoring.scorer import EditMemory, Neighbourhood, NeighbourhoodScorer, compiled_network
