"""The same bits whatever the number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from comrecgc.threads import one_thread


@contextmanager
def reproducible() -> Iterator[None]:
    """Torch and BLAS on one thread each while the block runs.

    The last bits of a matrix product depend on how many threads it is split over, and a search follows the last bits. Cores
    are used where work falls into parts that do not touch: neighbourhoods, and shards of the walk.
    """
    with one_thread(), threadpool_limits(limits=1, user_api="blas"):
        yield
