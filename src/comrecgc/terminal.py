"""What a person sees while work goes on: bars on stderr, plain lines where that is no terminal, one line that changes in a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

LINE_SECONDS = 5.0
"""Time between two plain lines of the same stage."""

Progress = Callable[[str, int, int, str], None]
"""Called with the stage, how much of it is done, how much there is, and a word on how it goes."""


class Bars:
    """Progress bars by name: a bar appears when work under its name begins."""

    def __init__(self, progress: RichProgress) -> None:
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


class CellOutput:
    """Progress in a notebook: one output below the cell, a line per stage, rewritten at most a few times a second."""

    def __init__(self, seconds: float = 0.3) -> None:
        self._seconds = seconds
        self._stages: dict[str, str] = {}
        self._next = 0.0
        self._shown: Any = None

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Rewrite the line of the stage if it is time for that."""
        begins = what not in self._stages
        self._stages[what] = f"{what}: {done}/{total}" + (f", {word}" if word else "")
        now = time.monotonic()
        if begins or now >= self._next or done >= total:
            self._next = now + self._seconds
            self._show()

    def stop(self) -> None:
        """Leave the last words standing."""
        if self._stages:
            self._show()

    def _show(self) -> None:
        from IPython.display import HTML, display

        text = HTML(f"<pre>{html.escape(chr(10).join(self._stages.values()))}</pre>")
        if self._shown is None:
            self._shown = display(text, display_id=True)
        else:
            self._shown.update(text)


def in_notebook() -> bool:
    """Whether this process answers the cells of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def is_watched() -> bool:
    """Whether somebody sees progress: in a terminal or a notebook."""
    return in_notebook() or err.is_terminal


@contextmanager
def bars() -> Iterator[Progress]:
    """Progress while the block runs: on stderr, or below the cell of a notebook."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[word]}", markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    shown: Bars | Lines | CellOutput
    if in_notebook():
        shown = CellOutput()
    elif err.is_terminal:
        shown = Bars(RichProgress(*columns, console=err))
    else:
        shown = Lines()
    try:
        yield shown
    finally:
        shown.stop()
