"""Runs experiments in a folder: setups are made once, results are cached, tables are filled row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comrecgc import __version__
from comrecgc_reproduction.methods import Method
from comrecgc_reproduction.paper import DATASETS, Line
from comrecgc_reproduction.results import SCALES, CachedResult, ResultStore, Scale, file_name, packages
from comrecgc_reproduction.setups import Progress, Setup
from comrecgc_reproduction.tables import Entry, Row

_STORED = max(scale.num_seeds for scale in SCALES.values())  # seeds that are shown where an earlier run has them
_HOUR = 3600.0  # processor seconds
KEPT = "Seconds and peak memory of every figure: `cells.csv`."


@dataclass(frozen=True, eq=False, kw_only=True)
class Runner:
    """Carries out experiments in a folder.

    Args:
        folder: Gets cells, models, tables and figures.
        scale: How large the experiments are.
        checkpoints: Folder with released models; missing models are trained.
        data_root: Folder to look for archives in first.
        jobs: Cores to use.
        computes: Whether to compute missing cells; otherwise tables list them as not run.
        progress: Called as work proceeds.
        asked: Processor seconds of every cell asked for; None for one that was not run.
    """

    folder: Path
    scale: Scale
    checkpoints: Path | None = None
    data_root: Path | None = None
    jobs: int = 1
    computes: bool = True
    progress: Progress | None = None
    asked: dict[str, float | None] = field(default_factory=dict)
    _setups: dict[tuple[Any, ...], Setup] = field(default_factory=dict, repr=False)

    @property
    def cells(self) -> ResultStore:
        """The cells of all tables."""
        return ResultStore(
            folder=self.folder / "cells", computes=self.computes, progress=self.progress, asked=self.asked
        )

    def setup(self, dataset: str, model: str = "gcn", *, trained: bool = False, **varied: Any) -> Setup:
        """A dataset and its models; made once.

        Args:
            dataset: Name of the dataset.
            model: Kind of the classifier.
            trained: Whether to leave released models aside and train.
            varied: Fields of the setup that differ from its defaults: `training_seed`, `swapped`, `pool`, `effort`, `most_size`.
        """
        key = (dataset, model, trained, *sorted(varied.items()))
        if key not in self._setups:
            effort = varied.get("effort", 1.0)
            siblings = (
                setup
                for known, setup in self._setups.items()
                if known[0] == dataset and known[2] == trained and setup.effort == effort
            )
            self._setups[key] = Setup(
                name=dataset,
                model=model,
                scale=self.scale,
                models=self.folder / "models",
                checkpoints=None if trained else self.checkpoints,
                data_root=self.data_root,
                jobs=self.jobs,
                progress=self.progress,
                sibling=next(siblings, None),
                **varied,
            )
        return self._setups[key]

    def results(self, method: Method, dataset: str, model: str = "gcn") -> list[CachedResult | None]:
        """Results of a method, one per seed; None for those not run. Further seeds run only if all of them take at most an hour."""
        setup = self.setup(dataset, model)
        results = [self.result(method, setup, 0)]
        for seed in range(1, max(_STORED, self.scale.num_seeds) if method.random else 1):
            if self.computes and seed < self.scale.num_seeds and self._fits(method, setup):
                results.append(self.result(method, setup, seed))
            elif (stored := self.cells.stored(method.cell(setup, seed))) is not None:
                results.append(stored)
        return results

    def _fits(self, method: Method, setup: Setup) -> bool:
        """Whether all seeds take at most an hour of one processor, judged by the first one, with the search that it shares."""
        names = {each.cell(setup, 0) for each in (method, method.searched_by) if each is not None}
        return sum(self.asked[name] or 0.0 for name in names) * self.scale.num_seeds <= _HOUR

    def result(self, method: Method, setup: Setup, seed: int) -> CachedResult | None:
        """One cell. That of the method whose search it shares comes first, so that seconds say which of them searched."""
        if method.searched_by is not None:
            self.result(method.searched_by, setup, seed)
        searched = file_name((method.searched_by or method).cell(setup, seed))
        kept = self.folder / "searches" / searched
        return self.cells.value(method.cell(setup, seed), lambda: method.figures(setup, seed, kept))

    def seeded(
        self, name: str, compute: Callable[[Setup, int], dict[str, Any]], dataset: str
    ) -> list[CachedResult | None]:
        """Cells other than those of a method, one per seed; None for those not run."""
        setup = self.setup(dataset)
        return [
            self.cells.value(f"{name} {dataset} gcn seed {seed} {self.scale}", lambda seed=seed: compute(setup, seed))  # type: ignore[misc]
            for seed in range(self.scale.num_seeds)
        ]

    def row(
        self,
        name: str,
        kind: str,
        method: Method,
        read: Sequence[Callable[[dict[str, Any]], float | None]],
        printed: Line | None = None,
        *,
        datasets: Sequence[str] = DATASETS,
        model: str = "gcn",
    ) -> Row:
        """A row of a table: a method on every dataset.

        Args:
            name: What it is called.
            kind: Whose method it is.
            method: The method.
            read: Takes a figure from a cell; one or two of them, as the paper prints coverage and length.
            printed: What the paper printed.
            datasets: The datasets.
            model: Kind of the classifier.
        """
        entries: list[Entry] = []
        for place, dataset in enumerate(datasets):
            results = self.results(method, dataset, model)
            for which, take in enumerate(read):
                entries.append(Entry.of(results, take, None if printed is None else printed[place][which]))
        return Row(name=name, kind=kind, entries=tuple(entries))

    def notes(self, datasets: Sequence[str] = DATASETS, models: Sequence[str] = ("gcn",)) -> tuple[str, ...]:
        """Notes below every table: the scale, the origin of models, versions."""
        provenance = [self.setup(name, model).provenance for model in models for name in datasets]
        return (f"{self.scale.sentence}", "Models: " + "; ".join(provenance) + ".", versions(), KEPT)


def versions() -> str:
    """Versions of software used for a figure."""
    return f"comrecgc {__version__}, {packages()}."


def coverage(result: dict[str, Any]) -> float | None:
    """Coverage in percent: as the published code counts where a baseline says so."""
    published = result.get("published_coverage")
    return 100 * float(result["coverage"] if published is None else published)


def length(result: dict[str, Any]) -> float | None:
    """Total length of the recourses; None for a cell without it."""
    value = result.get("published_length")
    value = result.get("length") if value is None else value
    return None if value is None else float(value)


def first_ten(result: dict[str, Any]) -> float | None:
    """Coverage of the first ten recourses, in percent."""
    return covered_by_first(result, 10)


def covered_by_first(result: dict[str, Any], count: int) -> float | None:
    """Coverage of the first recourses, in percent; of all where there are fewer. None for a cell without its curve."""
    curve = result["curve"]
    if not curve:
        return None if result["coverage"] else 0.0
    return 100 * float(curve[min(count, len(curve)) - 1])
