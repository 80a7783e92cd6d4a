"""What a change does to a network, exactly; or any model, in batches."""

from comrecgc.scoring.network import compiled_network
from comrecgc.scoring.scorer import EditMemory, Neighbourhood, NeighbourhoodScorer, first_of_each, neighbour_keys
