"""One writer at a time: a lock that the system lets go of when its process dies, however it dies."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from comrecgc.errors import InputError
from comrecgc.files import reason_of, remove_parts

if sys.platform != "win32":  # which has no such locks: two runs in one folder are not noticed there
    import fcntl

FOLDER_LOCK = ".lock"

_CANNOT_LOCK = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # what file systems without locks say


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
def _locked(lock: Path, what: Path, *, wait: bool) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    descriptor = _taken(lock, what, wait)
    with suppress(OSError):  # a full disk: the number is only for a message
        os.write(descriptor, str(os.getpid()).encode())
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before the lock is let go, so that nobody holds one on a file without a name
        os.close(descriptor)


def _taken(lock: Path, what: Path, wait: bool) -> int:
    """The descriptor of the lock file, locked."""
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InputError(f"Cannot write {lock}: {reason_of(error)}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_still(lock, descriptor):
                os.truncate(descriptor, 0)
                return descriptor
        except BlockingIOError as error:
            owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            by = f"process {owner}" if owner.isdigit() else "another process"
            raise InputError(f"{what} is being written by {by}: let it end, or choose another --out") from error
        except OSError as error:
            if error.errno in _CANNOT_LOCK:
                return descriptor
            os.close(descriptor)
            raise InputError(f"Cannot lock {lock}: {reason_of(error)}") from error
        os.close(descriptor)


def _is_still(lock: Path, descriptor: int) -> bool:
    """Whether the file that was locked still has its name: its last holder may have removed it in between."""
    try:
        return os.path.samestat(lock.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
