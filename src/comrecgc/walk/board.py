"""How far the shards of a walk are, told from process to process and shown on a progress bar."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.walk.walk import WalkState

_SECONDS = 0.5

Bar = Callable[[str, int, int, str], None]
"""Called with what is done, how much of it, how much there is, and a word on how it goes (`comrecgc.terminal.Bars`)."""


class Board:
    """Steps done and candidates held by each shard, in a file that all processes map.

    Args:
        path: The file.
        num_shards: Number of shards.
    """

    def __init__(self, path: Path, num_shards: int) -> None:
        mode = "r+" if path.exists() else "w+"
        self._numbers: npt.NDArray[np.int64] = np.memmap(path, np.int64, mode, shape=(num_shards, 2))  # type: ignore[call-overload]

    def tell(self, shard: int, state: WalkState) -> None:
        self._numbers[shard] = state.step, len(state.pool)

    def totals(self) -> tuple[int, int]:
        """Steps done and candidates held by all shards together."""
        steps, held = self._numbers.sum(axis=0).tolist()
        return steps, held


@contextmanager
def shown(num_shards: int, num_steps: int, bar: Bar) -> Iterator[Path]:
    """While the block runs, show what is told to the board at the path given."""
    over = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "board"
        board = Board(path, num_shards)

        begun: list[tuple[float, int]] = []  # when steps were first seen; a walk that is resumed has some behind it

        def show() -> None:
            steps, held = board.totals()
            now = time.monotonic()
            if steps and not begun:
                begun.append((now, steps))
            since, before = begun[0] if begun else (now, steps)
            rate = (steps - before) / (now - since) if now > since else 0.0
            bar("walk", steps, num_steps, f"{rate:.1f} steps/s, {held} candidates")

        def watch() -> None:
            while not over.wait(_SECONDS):
                show()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield path
        finally:
            over.set()
            thread.join()
            show()
