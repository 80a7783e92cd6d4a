"""What a person at a terminal sees: progress on stderr, as bars or, where it is no terminal, as plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

LINE_SECONDS = 5.0
"""Time between two plain lines of the same stage."""

Report = Callable[..., None]
"""Called with what is being done, how much is done, how much there is, and perhaps a word on how it goes."""


class Bars:
    """Progress bars by name: a bar appears when work under its name begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Show that `done` of `total` is done, with a word on how it goes."""
        if not self._tasks:
            self._progress.start()  # not before: with nothing to show it would still write an empty line
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total, word=word)
        self._progress.update(self._tasks[what], completed=done, total=total, word=word)

    def stop(self) -> None:
        """Leave the bars as they are; none if no work began."""
        if self._tasks:
            self._progress.stop()


class Lines:
    """Progress as plain lines: one when a stage begins, one when it is done, and one every few seconds between."""

    def __init__(self, seconds: float = LINE_SECONDS) -> None:
        self._seconds = seconds
        self._what = ""
        self._next = 0.0
        self._waiting = ""

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Print a line if it is time for one."""
        line = f"{what}: {done}/{total}" + (f", {word}" if word else "")
        now = time.monotonic()
        if what != self._what:
            self.stop()  # the last word of the stage before
        elif now < self._next and done < total:
            self._waiting = line
            return
        err.print(line, markup=False, soft_wrap=True)
        self._what, self._next, self._waiting = what, now + self._seconds, ""

    def stop(self) -> None:
        """Print what was held back."""
        if self._waiting:
            err.print(self._waiting, markup=False, soft_wrap=True)
        self._waiting = ""


@contextmanager
def bars() -> Iterator[Report]:
    """Progress on stderr while the block runs."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[word]}", markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    shown = Bars(Progress(*columns, console=err)) if err.is_terminal else Lines()
    try:
        yield shown
    finally:
        shown.stop()
