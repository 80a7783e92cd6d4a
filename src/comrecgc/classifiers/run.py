"""One training run in motion: a model, its optimiser, the best epoch so far, and all of that on disk to resume from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.classifiers import kernels
from comrecgc.classifiers.backprop import Backprop, Float32Array
from comrecgc.classifiers.model import GraphClassifier
from comrecgc.classifiers.states import ColouredGraphs
from comrecgc.errors import InputError
from comrecgc.graphs import LongArray
from comrecgc.storage import load_arrays, refusing_damage, save_arrays


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best epoch so far by validation accuracy, ties by validation loss."""

    epoch: int
    accuracy: float
    loss: float

    def beaten_by(self, accuracy: float, loss: float) -> bool:
        """Whether an epoch with these figures is better."""
        return (accuracy, -loss) > (self.accuracy, -self.loss)


class Run:
    """Adam on mini-batches of the training graphs, with the best validation epoch kept.

    Args:
        model: The model to train, on the CPU; its parameters change in place.
        graphs: All graphs of the dataset.
        classes: Class of each, `[len(graphs)]`.
        train: Indices of the training graphs.
        validation: Indices of the validation graphs.
        rng: Shuffles the training graphs.
    """

    def __init__(
        self,
        model: GraphClassifier,
        graphs: ColouredGraphs,
        classes: LongArray,
        *,
        train: LongArray,
        validation: LongArray,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.rng = model, rng
        self.epoch, self.step = 0, 0
        self.best = Best(epoch=0, accuracy=-1.0, loss=float("inf"))
        self._graphs, self._classes, self._train, self._validation = graphs, classes, train, validation
        self._backprop = Backprop(model, graphs.max_degree)
        self._first, self._second = (np.zeros(len(self._backprop.parameters)) for _ in range(2))
        self._validation_batch = graphs.select(validation)
        self._best_state = self._state()

    def advance(self, batch_size: int, learning_rate: float) -> tuple[float, float]:
        """One epoch; its mean training loss and the validation accuracy after it."""
        loss = 0.0
        for chosen, batch in self._graphs.batches(self.rng.permutation(self._train), batch_size):
            loss += self._backprop.loss(batch, self._classes[chosen]) * len(chosen)
            self.step += 1
            parameters, gradient = self._backprop.parameters, self._backprop.gradient
            kernels.adam(parameters, gradient, self._first, self._second, self.step, learning_rate)
        self.epoch += 1
        accuracy, validation_loss = self._validate()
        if self.best.beaten_by(accuracy, validation_loss):
            self.best = Best(epoch=self.epoch, accuracy=accuracy, loss=validation_loss)
            self._best_state = self._state()
        return loss / len(self._train), accuracy

    def take_best(self) -> None:
        """Give the model the parameters of the best epoch."""
        self._set(self._best_state)

    def save(self, path: Path, facts: dict[str, Any]) -> None:
        """Write everything the next epochs depend on, and facts that say which run this is, to one file."""
        tensors: dict[str, npt.NDArray[Any]] = {f"now.{name}": value for name, value in self._state().items()}
        tensors |= {f"best.{name}": value for name, value in self._best_state.items()}
        tensors |= {"adam.first": self._first, "adam.second": self._second}
        progress = {
            "epoch": self.epoch,
            "step": self.step,
            "best": vars(self.best),
            "rng": self.rng.bit_generator.state,
        }
        save_arrays(path, tensors, {"run": facts, **progress})

    def load(self, path: Path, facts: dict[str, Any]) -> None:
        """Go on from where `save` was; refuses a file of another run."""
        tensors, written = load_arrays(path)
        with refusing_damage(path):
            theirs = dict(written["run"])
        for name, value in facts.items():
            if theirs.get(name) != value:
                raise InputError(f"{path} belongs to another run: {name} must be {value!r} (got {theirs.get(name)!r})")
        with refusing_damage(path):
            self.epoch, self.step, self.best = written["epoch"], written["step"], Best(**written["best"])
            self.rng.bit_generator.state = written["rng"]
            self._first[:], self._second[:] = tensors["adam.first"], tensors["adam.second"]
            self._set({name: tensors[f"now.{name}"] for name in self._best_state})
            self._best_state = {name: tensors[f"best.{name}"] for name in self._best_state}

    def _validate(self) -> tuple[float, float]:
        logits = self._backprop.logits(self._validation_batch)
        targets = self._classes[self._validation]
        loss = float(kernels.cross_entropy(logits, targets, np.empty_like(logits)))
        return float(((logits[:, 1] > logits[:, 0]) == targets).mean()), loss

    def _state(self) -> dict[str, Float32Array]:
        """A copy of the model's parameters and running moments."""
        return {
            name: value.numpy().copy()
            for name, value in self.model.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }

    def _set(self, state: dict[str, Float32Array]) -> None:
        # In place, because the model's tensors and the flat parameter vector share their memory.
        ours = self.model.state_dict()
        for name, value in state.items():
            ours[name].copy_(torch.from_numpy(value))
