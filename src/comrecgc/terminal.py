"""What a person at a terminal sees: progress on stderr, errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


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


@contextmanager
def bars() -> Iterator[Bars]:
    """Progress bars on stderr while the block runs."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[word]}", markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    progress = Progress(*columns, console=err)
    shown = Bars(progress)
    try:
        yield shown
    finally:
        shown.stop()
