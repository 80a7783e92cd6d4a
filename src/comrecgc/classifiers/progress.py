"""A bar that shows a classifier being trained."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from comrecgc.classifiers.training import EpochReport


class TrainingBar:
    """Epoch, loss and validation accuracy on stderr: `with TrainingBar() as bar: train_classifier(…, progress=bar)`.

    Args:
        console: Where to draw; stderr by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("epoch {task.completed}/{task.total}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
        )
        self._task = self._progress.add_task("", total=None)

    def __call__(self, report: EpochReport) -> None:
        text = f"loss {report.loss:.4f}, validation {report.accuracy:.1%}, best {report.best_accuracy:.1%}"
        self._progress.update(self._task, completed=report.epoch, total=report.epochs, description=text)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
