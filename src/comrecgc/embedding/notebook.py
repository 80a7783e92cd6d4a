"""What a training keeps beside its output until it is done: its labels and the state of its optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from comrecgc.embedding.greed import Greed
from comrecgc.embedding.pairs import LabelledGroups, PairGenerator
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.storage import load_arrays, read_json, reason_of, refusing_damage, remove_parts, save_arrays, write_json

Progress = Callable[[str, int, int, str], None]
"""Called with what is being done, how much is done, how much there is, and a word on how it goes."""

_SETTINGS = "settings.json"
_FIT = "fit.npz"


def partial_folder(out: Path) -> Path:
    """The folder an unfinished training keeps beside its output."""
    return out.with_suffix(".partial")


class Notebook:
    """The folder of an unfinished training, `<out>.partial`; without an output nothing is kept.

    Args:
        out: Where the trained embedder shall go.
        settings: What determines the result; a training resumes only with the very same.
        progress: Called as work proceeds.
        resume: Go on from what the folder holds; otherwise it is emptied.
    """

    def __init__(self, out: Path | None, settings: dict[str, Any], progress: Progress | None, *, resume: bool) -> None:
        self.folder = None if out is None else partial_folder(out)
        self.progress = progress
        if self.folder is None:
            return
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            raise InputError(f"Cannot write to {self.folder}: a training keeps its checkpoints in a folder, not a link")
        plan = self.folder / _SETTINGS
        if not resume or not plan.exists():
            self._empty()  # without its settings nobody knows what the rest is of
        elif read_json(plan) != as_stored(settings):
            raise InputError(f"{self.folder} is of a training with other settings or data: start anew without resuming")
        remove_parts(self.folder)
        write_json(plan, settings)

    def say(self, what: str, done: int, total: int, word: str = "") -> None:
        """Tell how the work proceeds."""
        if self.progress is not None:
            self.progress(what, done, total, word)

    def groups(
        self, name: str, generator: PairGenerator, graphs: Sequence[Graph], num_labels: int, seed: int
    ) -> LabelledGroups:
        """Labelled groups of the given graphs: made, or read back if they are kept already."""
        path = None if self.folder is None else self.folder / f"{name}.npz"
        if path is not None and path.exists():
            return _read_groups(path)
        groups = generator.generate(
            graphs,
            num_labels,
            seed=seed,
            progress=lambda what, done, total: self.say(f"{what}, {name}", done, total),
        )
        if path is not None:
            save_arrays(path, groups.arrays(), {})
        return groups

    def save_fit(self, model: Greed, optimiser: torch.optim.AdamW, step: int) -> None:
        """Keep model and optimiser as they are after so many steps."""
        if self.folder is None:
            return
        state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        for index, moments in optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        save_arrays(self.folder / _FIT, arrays, {"step": step})

    def load_fit(self, model: Greed, optimiser: torch.optim.AdamW) -> int:
        """Put model and optimiser back to where they were kept last; the number of steps done."""
        if self.folder is None or not (self.folder / _FIT).exists():
            return 0
        arrays, facts = load_arrays(self.folder / _FIT)
        with refusing_damage(self.folder / _FIT):
            state = {name: torch.from_numpy(array) for name, array in arrays.items()}
            model.load_state_dict({name: state[f"model.{name}"] for name in model.state_dict()})
            moments: dict[int, dict[str, Tensor]] = {}
            for name, tensor in state.items():
                if name.startswith("optimiser."):
                    _, index, moment = name.split(".")
                    moments.setdefault(int(index), {})[moment] = tensor
            optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
            return int(facts["step"])

    def clear(self) -> None:
        """Drop everything kept."""
        if self.folder is not None and self.folder.is_dir():
            self._empty()
            with suppress(OSError):  # somebody else's file is in it
                self.folder.rmdir()

    def _empty(self) -> None:
        """Drop what is in the folder; what says whose the rest is goes last, in case of a kill."""
        if self.folder is None or not self.folder.is_dir():
            return
        remove_parts(self.folder)
        for name in (_FIT, "train.npz", "test.npz", _SETTINGS):
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"Cannot remove {self.folder / name}: {reason_of(error)}") from error


def as_stored(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON gives them back: tuples are lists."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _read_groups(path: Path) -> LabelledGroups:
    arrays, _ = load_arrays(path)
    with refusing_damage(path):
        return LabelledGroups.from_arrays(arrays)
