"""Where experiments are carried out: grounds made once, cells kept, one row of a table after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comrecgc.experiments.cells import CellStore, Scale
from comrecgc.experiments.grounds import Ground, Progress
from comrecgc.experiments.methods import Method
from comrecgc.experiments.paper import DATASETS, Line
from comrecgc.experiments.tables import Entry, Row, Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Laboratory:
    """Carries out experiments in a folder.

    Args:
        folder: Gets cells, models, tables and figures.
        scale: How large the experiments are.
        checkpoints: Folder with released models; what is not there is trained.
        data_root: Where archives are looked for first.
        jobs: Cores to use.
        progress: Called as work proceeds.
    """

    folder: Path
    scale: Scale
    checkpoints: Path | None = None
    data_root: Path | None = None
    jobs: int = 1
    progress: Progress | None = None
    _grounds: dict[tuple[str, str], Ground] = field(default_factory=dict, repr=False)

    @property
    def cells(self) -> CellStore:
        """The cells of all tables."""
        return CellStore(folder=self.folder / "cells", progress=self.progress)

    def ground(self, dataset: str, model: str = "gcn") -> Ground:
        """A dataset and its models; made once."""
        if (dataset, model) not in self._grounds:
            self._grounds[dataset, model] = Ground(
                name=dataset,
                model=model,
                scale=self.scale,
                models=self.folder / "models",
                checkpoints=self.checkpoints,
                data_root=self.data_root,
                jobs=self.jobs,
                progress=self.progress,
            )
        return self._grounds[dataset, model]

    def results(self, method: Method, dataset: str, model: str = "gcn") -> list[dict[str, Any]]:
        """What a method comes to, one a seed."""
        ground = self.ground(dataset, model)
        seeds = range(self.scale.num_seeds if method.random else 1)
        return [
            self.cells.value(method.cell(ground, seed), lambda seed=seed: method.figures(ground, seed))  # type: ignore[misc]
            for seed in seeds
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
                values = tuple(value for value in map(take, results) if value is not None)
                entries.append(Entry(values=values, printed=None if printed is None else printed[place][which]))
        return Row(name=name, kind=kind, entries=tuple(entries))

    def notes(self, datasets: Sequence[str] = DATASETS, model: str = "gcn") -> tuple[str, ...]:
        """What a reader must know of every table: the scale, and where models come from."""
        size = "all graphs" if self.scale.most_graphs is None else f"at most {self.scale.most_graphs} graphs a dataset"
        return (
            f"Scale {self.scale}: {size}, walks of {self.scale.num_steps} steps, {self.scale.num_seeds} seed(s).",
            "Models: " + "; ".join(self.ground(name, model).provenance for name in datasets) + ".",
        )

    def save(self, table: Table) -> Table:
        """Keep a table in the folder."""
        table.save(self.folder)
        return table


def coverage(result: dict[str, Any]) -> float | None:
    """Coverage in percent: as the published code counts where a baseline says so."""
    published = result.get("published_coverage")
    return 100 * float(result["coverage"] if published is None else published)


def length(result: dict[str, Any]) -> float | None:
    """Total length of the recourses."""
    value = result.get("published_length")
    value = result["length"] if value is None else value
    return None if value is None else float(value)


def first_ten(result: dict[str, Any]) -> float | None:
    """Coverage of the first ten recourses, in percent."""
    return 100 * float(result["curve"][min(10, len(result["curve"])) - 1]) if result["curve"] else 0.0
