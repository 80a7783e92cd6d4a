"""Where work is done: on threads of this machine or on a dask cluster. Work is a pure function of what all blocks share and one block."""

from comrecgc.engine.cluster import ClusterEngine, connect, engine_of
from comrecgc.engine.local import Engine, LocalEngine

__all__ = ["ClusterEngine", "Engine", "LocalEngine", "connect", "engine_of"]
