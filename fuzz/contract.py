"""What every reader owes a file: take it and be right, or refuse it in one line that names it; quickly, and touching nothing."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from comrecgc.errors import InputError
from fuzz.choices import Choices

MAX_GROWTH = 512 << 20
_STUCK_SECONDS = 60.0


class Target(Protocol):
    """A module of this package: one reader under fuzz."""

    NAMES_FILE: bool
    """Whether every refusal must name a file of the input."""

    MAX_SECONDS: float
    """Processor time that an input may take."""

    def write(self, choices: Choices, folder: Path) -> None:
        """Put a hostile input into an empty folder."""

    def read(self, folder: Path) -> None:
        """Read the input; raises `InputError` to refuse it, `AssertionError` where what was accepted is not right."""


@dataclass(frozen=True)
class Failure:
    """A broken contract.

    Args:
        kind: What was broken, and where: the same for the same mistake.
        details: A traceback or message.
    """

    kind: str
    details: str


@dataclass(frozen=True)
class Outcome:
    """What came of an input.

    Args:
        accepted: Whether it was taken, and found right.
        refusal: Why it was not; empty where it was.
        failure: How the contract was broken; None where it was kept.
    """

    accepted: bool
    refusal: str = ""
    failure: Failure | None = None


def outcome_of(target: Target, folder: Path) -> Outcome:
    """Read the input in a folder.

    Args:
        target: The reader.
        folder: The input; everything beside it must stay as it is.
    """
    before, memory, started = _listing(folder.parent), _peak_memory(), time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _STUCK_SECONDS)  # ends the process; the input stays where it is
    accepted, refusal, failure = False, "", None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target.read(folder)
        accepted = True
    except InputError as error:
        refusal = str(error)
        failure = _refusal_failure(refusal, folder, target.NAMES_FILE)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = Failure(f"{type(error).__name__} at {_place(error)}", "".join(traceback.format_exception(error)))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds, growth = time.process_time() - started, _peak_memory() - memory
    if changed := _listing(folder.parent) ^ before:
        failure = Failure("touched files", ", ".join(sorted(path for path, _, _ in changed)))
    if growth > MAX_GROWTH:
        failure = Failure("memory", f"took {growth >> 20} MB more")
    if seconds > target.MAX_SECONDS:
        failure = Failure("slow", f"took {seconds:.1f} s")
    return Outcome(accepted, refusal, failure)


def emptied(folder: Path) -> Path:
    """The folder, made new."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _refusal_failure(message: str, folder: Path, names_file: bool) -> Failure | None:
    if not message.isprintable():  # line ends, and what would drive a terminal
        return Failure("refusal is not one plain line", repr(message))
    if names_file and str(folder) not in message:
        return Failure("refusal names no file", message)
    return None


def _place(error: BaseException) -> str:
    """The innermost frame in the package under fuzz."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "comrecgc" in Path(frame.filename).parts] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno} {own[-1].name}"


def _listing(folder: Path) -> set[tuple[str, int, int]]:
    """Path, size and time of change of every file under a folder."""
    found = set()
    for root, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - called for every input
            found.add((os.path.join(root, name), status.st_size, status.st_mtime_ns))  # noqa: PTH118
    return found


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
