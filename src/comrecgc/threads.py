"""How many threads torch and BLAS use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread while the block runs.

    For work made of many small products a second thread costs more than it brings, and the last bits of a sum depend on
    how it is split, so results do not depend on the machine's cores.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def reproducible() -> Iterator[None]:
    """Torch and BLAS on one thread each while the block runs: the same bits whatever the number of cores.

    The last bits of a matrix product depend on how many threads it is split over, and a search follows the last bits. Cores
    are used where work falls into parts that do not touch: neighbourhoods, and shards of the walk.
    """
    with one_thread(), threadpool_limits(limits=1, user_api="blas"):
        yield


def use_one_thread() -> None:
    """Torch and BLAS on one thread each from now on, for processes whose threads all do such work."""
    torch.set_num_threads(1)
    threadpool_limits(limits=1, user_api="blas")
