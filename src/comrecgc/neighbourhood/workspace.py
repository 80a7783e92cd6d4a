"""Memory that is used again and again: fresh pages cost more than the work done on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LINE = 64


class Workspace:
    """Named buffers that grow and are never returned; the work of one thread at a time."""

    def __init__(self) -> None:
        self._buffers: dict[str, npt.NDArray[np.uint8]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """An array with whatever was in it before, starting on a cache line.

        Args:
            name: Which buffer; an array taken earlier under this name is overwritten.
            shape: Shape of the array.
            dtype: Type of its entries.
        """
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size + _LINE:
            buffer = np.empty(size + size // 4 + _LINE, dtype=np.uint8)
            self._buffers[name] = buffer
        offset = -buffer.ctypes.data % _LINE
        return buffer[offset : offset + size].view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # what is in it need not travel
