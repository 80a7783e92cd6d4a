"""The folder of a run: begun, interrupted, resumed, finished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comrecgc.baselines import CHECKPOINT as BASELINE_CHECKPOINT
from comrecgc.errors import InputError
from comrecgc.evidence import EVIDENCE
from comrecgc.explanation import Explanation
from comrecgc.pipeline import BLOCK_FILES, CENSUS, RULES
from comrecgc.storage import FOLDER_LOCK, check_writable, only_writer_in, read_json, reason_of, write_json

REQUEST = "run.json"
MANIFEST = "manifest.json"
REPORT = "report.html"
WITNESSES = "witnesses.npz"
SUMMARY = "summary.json"

# In the order of removal: the file that says whose the others are goes last, the one that says they are whole first.
_UNFINISHED = ("search.npz", "walk-*.npz", "baseline-*.npz", BASELINE_CHECKPOINT, REQUEST)
_FINISHED = (
    MANIFEST, "explanation.json", "recourses.csv", "coverage_curve.csv", "molecules.csv", REPORT, EVIDENCE, WITNESSES, RULES, CENSUS, SUMMARY,
    "panel-*.safetensors", "panel-*.json", BLOCK_FILES,
)  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """A run on disk.

    Args:
        path: The folder.
        request: What the run was asked to do, as JSON values; it resumes only with the very same.
    """

    path: Path
    request: dict[str, Any]

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, request: dict[str, Any], *, resume: bool, overwrite: bool) -> Iterator[RunFolder]:
        """Take a folder for a run, before any work is done; while the block runs no other run may take it.

        Args:
            path: The folder; it is made if needed.
            request: What the run is asked to do.
            resume: Go on with the run the folder holds, if it is the same; start one where it holds none.
            overwrite: Replace the run the folder holds.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"Cannot write to {path}: it is a file, and a run needs a folder")
        check_writable(path)
        folder = cls(path, json.loads(json.dumps(request)))
        with only_writer_in(path):
            folder._begin(resume=resume, overwrite=overwrite)
            yield folder

    def _begin(self, *, resume: bool, overwrite: bool) -> None:
        if overwrite:
            self._remove(*_FINISHED, *_UNFINISHED)
        elif resume:
            self._check_request()
        elif any(entry.name != FOLDER_LOCK for entry in self.path.iterdir()):
            raise InputError(
                f"{self.path} is not empty: --resume goes on with the run in it, --overwrite replaces it; "
                "or choose another --out"
            )
        if self.is_finished:
            self.finish()  # it was, but perhaps killed before it had cleared up
        else:
            write_json(self.path / REQUEST, self.request)

    @property
    def is_finished(self) -> bool:
        return (self.path / MANIFEST).exists()

    def finish(self) -> None:
        """Remove what only an unfinished run needs; the blocks of a shard stay, to be merged."""
        self._remove(*_UNFINISHED, *(() if "shard" in self.request else (BLOCK_FILES,)))

    def _check_request(self) -> None:
        """Refuse to go on with a run that was asked for something else."""
        if self.is_finished:
            found = Explanation.load(self.path).facts.facts.get("request")
        elif (self.path / REQUEST).exists():
            found = read_json(self.path / REQUEST)
        else:
            return
        found = found if isinstance(found, dict) else {}
        for name, value in self.request.items():
            if found.get(name) != value:
                raise InputError(
                    f"{self.path} holds a run with {name} {found.get(name)!r}, and resuming needs the same (got {value!r})"
                )

    def _remove(self, *patterns: str) -> None:
        for pattern in patterns:
            for file in self.path.glob(pattern):
                try:
                    file.unlink()
                except OSError as error:
                    raise InputError(f"Cannot remove {file}: {reason_of(error)}") from error
