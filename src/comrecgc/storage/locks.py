"""One writer at a time: a lock that the system lets go of when its process dies, however it dies."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from comrecgc.errors import InputError
from comrecgc.storage.files import reason_of, remove_parts

FOLDER_LOCK = ".lock"

_CANNOT_LOCK = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)  # what file systems without locks say


@contextmanager
def only_writer_in(folder: Path) -> Iterator[None]:
    """While the block runs, no other process takes the folder; what killed writers left half-written is removed.

    Args:
        folder: An existing folder, all of whose files one run writes.
    """
    with _locked(folder / FOLDER_LOCK, folder, wait=False):
        remove_parts(folder)
        yield


@contextmanager
def only_writer_of(path: Path, *beside: Path, wait: bool = False) -> Iterator[None]:
    """While the block runs, no other process writes the file; what killed writers left of it is removed.

    Args:
        path: A file in an existing folder.
        beside: Files that are written with it.
        wait: Wait for another writer to end instead of refusing.
    """
    with _locked(path.with_name(f".{path.name}.lock"), path, wait=wait):
        for written in (path, *beside):
            remove_parts(written.parent, written.name)
        yield


@contextmanager
def _locked(path: Path, what: Path, *, wait: bool) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{what} is being written by {_owner(path)}: let it end, or choose another --out") from error
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise InputError(f"Cannot write {path}: {reason_of(error)}") from error
    try:
        with suppress(OSError):  # a full disk: the number is only for a message
            path.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # before the lock is let go: whoever waits for this file sees that it is gone
        lock.release()


def _owner(lock: Path) -> str:
    """The process that holds a lock."""
    try:
        number = lock.read_text(encoding="ascii", errors="replace")[:20].strip()
    except OSError:
        number = ""
    return f"process {number}" if number.isdigit() else "another process"
