"""The multi-head vertex-reinforced random walk that finds counterfactual candidates."""

from comrecgc.walk.shards import ShardedWalk
from comrecgc.walk.walk import Candidate, CandidatePool, Head, MultiHeadWalk, Walker, WalkState

__all__ = ["Candidate", "CandidatePool", "Head", "MultiHeadWalk", "ShardedWalk", "WalkState", "Walker"]
