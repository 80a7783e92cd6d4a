"""Cached results of the cells of all tables: each is computed once and kept as a file, which several tables may use."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import re
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from comrecgc import __version__
from comrecgc.errors import InputError
from comrecgc.run import read_bytes, read_json, write_json

Progress = Callable[[str, int, int, str], None]
CachedResult = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large the experiments are.

    Args:
        name: "quick" or "full".
        most_graphs: Graphs of a dataset that are used, the first ones of each class; None for all.
        num_steps: Steps of every walk.
        num_seeds: Number of seeds of random methods if they take at most an hour of one processor; else one seed is run.
        epochs: Most epochs of a classifier that is trained here.
        effort: Effort of an embedder that is trained here.
        search_seconds: Seconds of our vector search; None for no limit.
    """

    name: str
    most_graphs: int | None
    num_steps: int
    num_seeds: int
    epochs: int
    effort: float
    search_seconds: float | None

    def __str__(self) -> str:
        return self.name

    @property
    def sentence(self) -> str:
        """The sizes in words."""
        graphs = "all graphs" if self.most_graphs is None else f"{self.most_graphs} graphs of each dataset"
        seeds = "seed 0" if self.num_seeds == 1 else f"seeds 0 to {self.num_seeds - 1}"
        small = "" if self.most_graphs is None else " So few graphs show that everything runs, not what it comes to."
        if self.search_seconds is not None:
            small = f" Our vector search has at most {self.search_seconds:g} s.{small}"
        return (
            f"Scale {self.name}: {graphs}, walks of {self.num_steps:,} steps, {seeds}, "
            f"models that are trained here {self.epochs:,} epochs.{small}"
        )


SCALES = {
    "quick": Scale(
        name="quick", most_graphs=50, num_steps=300, num_seeds=1, epochs=20, effort=0.02, search_seconds=30.0
    ),
    "full": Scale(
        name="full", most_graphs=None, num_steps=50_000, num_seeds=3, epochs=1000, effort=1.0, search_seconds=None
    ),
}  # fmt: skip


def scale_of(name: str) -> Scale:
    """A scale by its name."""
    if name not in SCALES:
        raise InputError(f"scale must be {' or '.join(SCALES)} (got {name!r})")
    return SCALES[name]


@dataclass(frozen=True, kw_only=True)
class ResultStore:
    """Results of cells, one JSON file each, written atomically; stored cells are not computed again.

    Args:
        folder: Folder of the files.
        computes: Whether to compute missing cells.
        progress: Called with the name of every cell before and after it is computed.
        asked: Gets the processor seconds of every cell that was asked for; None for one that is not there.
    """

    folder: Path
    computes: bool = True
    progress: Progress | None = None
    asked: dict[str, float | None] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the folder has no results."""
        return not any(self.folder.glob("*.json"))

    def value(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> CachedResult | None:
        """The result of a cell, computed unless it is stored; None if it is not stored and `computes` is False.

        Args:
            name: Description of everything the result depends on; it becomes the file's name.
            compute: Computes it: plain values that JSON can hold.
        """
        value = self.stored(name) or (self._computed(name, compute) if self.computes else None)
        self.asked[name] = None if value is None else float(value.get("cpu_seconds", 0.0))
        return value

    def stored(self, name: str) -> CachedResult | None:
        """The stored result of a cell, or None."""
        path = self.folder / f"{file_name(name)}.json"
        return _read(path, name) if path.exists() else None

    def _computed(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> CachedResult:
        if self.progress is not None:
            self.progress(name, 0, 1, "")
        started, busy = time.monotonic(), _processor_seconds()
        value: CachedResult = {
            "cell": name,
            "version": __version__,
            **compute(),
            "seconds": round(time.monotonic() - started, 2),
            "cpu_seconds": round(_processor_seconds() - busy, 2),
            "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            "machine": machine(),
            "packages": packages(),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / f"{file_name(name)}.json", value)
        if self.progress is not None:
            self.progress(name, 1, 1, f"{value['seconds']:.0f} s")
        return value

    def take(self, path: Path) -> None:
        """Store the cells of an earlier run, as `lines` wrote them, so that they are not computed again."""
        try:
            cells = [json.loads(line) for line in read_bytes(path).decode().splitlines()]
            names = [str(cell["cell"]) for cell in cells]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path} must hold cells, one JSON object a line (got {error})") from error
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, cell in zip(names, cells, strict=True):
            if self.stored(name) is None:
                write_json(self.folder / f"{file_name(name)}.json", cell)

    def lines(self) -> str:
        """All stored cells, one JSON object per line, for `take`."""
        return "".join(json.dumps(cell, ensure_ascii=False) + "\n" for cell in self._all())

    def _all(self) -> list[CachedResult]:
        return [read_json(path) for path in sorted(self.folder.glob("*.json"))]

    def listing(self) -> str:
        """All stored cells as CSV: results, running times and versions."""
        text = io.StringIO()
        columns = (
            "cell",
            "coverage",
            "length",
            "seconds",
            "cpu_seconds",
            "peak_gigabytes",
            "version",
            "machine",
            "packages",
        )
        writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for cell in self._all():
            for figure in ("coverage", "length"):
                if cell.get(f"published_{figure}") is not None:
                    cell[figure] = cell[f"published_{figure}"]
            writer.writerow(cell)
        return text.getvalue()


def _processor_seconds() -> float:
    """Processor seconds of this process and of its workers that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def machine() -> str:
    """The processor that values are computed on."""
    facts = Path("/proc/cpuinfo")  # Linux; elsewhere platform knows as much
    named = re.search(r"^model name\s*: (.+)$", facts.read_text(), re.MULTILINE) if facts.is_file() else None
    return f"{platform.processor() or platform.machine() if named is None else named[1]}, {os.cpu_count()} cores"


def packages() -> str:
    """Versions of the packages used for a figure."""
    names = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "torch_geometric"))
    return f"Python {platform.python_version()}, {names}"


def file_name(name: str) -> str:
    """A name turned into a file name: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")


def _read(path: Path, name: str) -> CachedResult:
    value = read_json(path)
    if not isinstance(value, dict) or value.get("cell") != name:
        raise InputError(f"{path} must hold the cell {name!r} (got another): delete it and run again")
    return value
