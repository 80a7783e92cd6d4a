"""Memory that is used again and again: fresh pages, and asking for them, cost more than small work done on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_LINE = 64
_MOST_ROOMS = 256

_Room = TypeVar("_Room")


class Workspace:
    """Named buffers that grow and are never returned; the work of one thread at a time."""

    def __init__(self) -> None:
        self._buffers: dict[str, npt.NDArray[np.uint8]] = {}
        self._rooms: dict[Hashable, Any] = {}

    def room(self, key: Hashable, make: Callable[[], _Room]) -> _Room:
        """What `make` takes from this workspace, or took when last asked with this key."""
        if key not in self._rooms:
            made = make()
            if len(self._rooms) >= _MOST_ROOMS:
                self._rooms.clear()
            self._rooms[key] = made
        found: _Room = self._rooms[key]
        return found

    def take(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """An array with whatever was in it before, starting on a cache line.

        Args:
            name: Which buffer; an array taken earlier under this name is overwritten.
            shape: Shape of the array.
            dtype: Type of its entries.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            room = np.empty(size + size // 4 + _LINE, dtype=np.uint8)
            buffer = room[-room.ctypes.data % _LINE :]
            self._buffers[name] = buffer
            self._rooms.clear()  # they hold on to the buffer outgrown
        return np.ndarray(shape, dtype, buffer)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # what is in it need not travel
