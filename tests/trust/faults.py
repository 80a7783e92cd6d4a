"""A disk that fails at the k-th thing asked of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Self

import pytest

from comrecgc.run import files


class Disk:
    """Counts what `comrecgc.run.files` asks of the disk, and fails once: at a number, or at an operation on a file.

    Args:
        monkeypatch: Puts the disk in the place of the real one.
        fail_at: Number of the operation that fails, counted from 1.
        fail_on: Name of an operation and of a file; that operation fails on that file, always.
        code: What the system says.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        fail_at: int | None = None,
        fail_on: tuple[str, str] | None = None,
        code: int = errno.ENOSPC,
    ) -> None:
        self.fail_at, self.fail_on, self.code = fail_at, fail_on, code
        self.operations: list[tuple[str, str]] = []
        self._writing = ""
        operations = {"fsync": self._counted("fsync", os.fsync), "replace": self._counted("replace", os.replace)}
        monkeypatch.setattr(files, "_created", self._created)
        monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), **operations}))

    def _step(self, operation: str) -> bool:
        """Whether it is time to fail."""
        self.operations.append((operation, self._writing))
        return len(self.operations) == self.fail_at or self.operations[-1] == self.fail_on

    def _counted(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if self._step(name):
                raise OSError(self.code, os.strerror(self.code))
            return operation(*arguments)

        return run

    def _created(self, path: Path) -> BinaryIO:
        self._writing = path.name.removeprefix(".").rsplit(".", 2)[0]
        if self._step("create"):
            raise OSError(self.code, os.strerror(self.code), str(path))
        file = path.open("xb")
        write = file.write

        def write_half(data: bytes) -> int:
            if self._step("write"):
                write(memoryview(data)[: len(data) // 2])
                raise OSError(self.code, os.strerror(self.code))
            return write(data)

        return _Written(file, write_half)  # type: ignore[return-value]


class _Written:
    """A file whose writing is watched."""

    def __init__(self, file: BinaryIO, write: Callable[[bytes], int]) -> None:
        self._file, self.write = file, write

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
