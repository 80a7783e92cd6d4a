"""How many threads torch uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
