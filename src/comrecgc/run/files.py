"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import glob
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from comrecgc.errors import InputError

_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # what file systems that cannot sync a folder say


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name in its own folder, sync it, rename it into place, and sync the folder.

    A reader sees the old file or the new one, never half of either, also after a kill, a full disk or a power cut. A
    link at the path is replaced, not followed. The folder is made if needed.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _created(temporary) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105  the one name for all that touches the disk here
        _sync_folder(path.parent)
    except BaseException as error:
        _remove_silently(temporary)
        if isinstance(error, OSError):
            raise InputError(f"Cannot write {path}: {reason_of(error)}") from error
        raise


def remove_parts(folder: Path, name: str | None = None) -> None:
    """Remove what killed writers left in a folder, of one file or of any; only for its one writer."""
    for part in folder.glob(f".{'*' if name is None else glob.escape(name)}.*.part"):
        _remove_silently(part)


def check_writable(folder: Path) -> None:
    """Make the folder if needed, and refuse one that nothing can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"Cannot write to {folder}: {reason_of(error)}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file; a missing or damaged one is named."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}".splitlines()[0]) from error


def reason_of(error: OSError) -> str:
    """Why a file could not be used, in one line."""
    return " ".join(str(error.strerror or error).split()) or type(error).__name__


def _created(path: Path) -> BinaryIO:
    """A new file, open for writing; nothing that is there already is opened, be it a link."""
    return path.open("xb")


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def _remove_silently(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


# One writer at a time: a lock that the system lets go of when its process dies, however it dies.


FOLDER_LOCK = ".lock"

_CANNOT_LOCK = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)  # what file systems without locks say


@contextmanager
def only_writer_in(folder: Path) -> Iterator[None]:
    """While the block runs, no other process takes the folder; what killed writers left half-written is removed."""
    with _locked(folder / FOLDER_LOCK, folder, wait=False):
        remove_parts(folder)
        yield


@contextmanager
def only_writer_of(path: Path, *beside: Path, wait: bool = False) -> Iterator[None]:
    """While the block runs, no other process writes the file and those beside it; what killed writers left is removed.

    Another writer is waited for, or refused.
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
