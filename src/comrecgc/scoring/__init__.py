"""comrecgc.scoring."""

from comrecgc.scoring.memory import EditMemory
from comrecgc.scoring.neighbourhood import Neighbourhood, first_of_each, neighbour_keys
from comrecgc.scoring.network import compiled_network
from comrecgc.scoring.scorer import NeighbourhoodScorer
