"""What a change does to a network, exactly; or any model, in batches."""

from comrecgc.scoring.scorer import EditMemory, Neighbourhood, NeighbourhoodScorer, compiled_network
