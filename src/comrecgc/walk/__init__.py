"""The multi-head vertex-reinforced random walk that finds counterfactual candidates."""

from comrecgc.walk.shards import ShardedWalk
from comrecgc.walk.walk import (
    Candidate,
    CandidatePool,
    Head,
    MultiHeadWalk,
    Walker,
    WalkState,
    draw,
    teleport_distribution,
)

__all__ = [
    "Candidate",
    "CandidatePool",
    "Head",
    "MultiHeadWalk",
    "ShardedWalk",
    "WalkState",
    "Walker",
    "draw",
    "teleport_distribution",
]
