"""How well a classifier knows the data it is explained on: an explanation of a bad model is about the model only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from comrecgc.classifiers.classifier import Predictions
from comrecgc.datasets import GraphDataset

LEAST_BALANCED = 0.7
"""Balanced accuracy below which a reader is warned."""

_HARDLY = 0.1  # of the graphs of a class that are predicted so


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Predictions against classes.

    Args:
        num_rejects: Graphs of the class reject.
        num_accepts: Graphs of the class accept.
        rejected: Rejects that the model rejects.
        accepted: Accepts that it accepts.
        class_names: What reject and accept mean.
    """

    num_rejects: int
    num_accepts: int
    rejected: int
    accepted: int
    class_names: tuple[str, str]

    @classmethod
    def of(cls, predictions: Predictions, dataset: GraphDataset) -> Agreement:
        """How predictions on a dataset agree with its classes."""
        is_accept = dataset.classes == 1
        said = predictions.accepted
        return cls(
            num_rejects=int((~is_accept).sum()),
            num_accepts=int(is_accept.sum()),
            rejected=int((~is_accept & ~said).sum()),
            accepted=int((is_accept & said).sum()),
            class_names=dataset.class_names,
        )

    @property
    def accuracy(self) -> float:
        """Share of graphs that the model gets right."""
        return (self.rejected + self.accepted) / max(self.num_rejects + self.num_accepts, 1)

    @property
    def recall_on_rejects(self) -> float:
        """Share of rejects that the model rejects."""
        return self.rejected / max(self.num_rejects, 1)

    @property
    def recall_on_accepts(self) -> float:
        """Share of accepts that the model accepts."""
        return self.accepted / max(self.num_accepts, 1)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of both recalls."""
        return float(np.mean([self.recall_on_rejects, self.recall_on_accepts]))

    @property
    def has_both(self) -> bool:
        return self.num_rejects > 0 and self.num_accepts > 0

    @property
    def sentence(self) -> str:
        """What a reader should know, in one sentence."""
        reject, accept = self.class_names
        said = self.rejected + self.num_accepts - self.accepted
        return (
            f"The model gets {self.accuracy:.1%} of the graphs right, those it was trained on included: {self.recall_on_rejects:.0%} of the "
            f"{self.num_rejects} of class {reject}, {self.recall_on_accepts:.0%} of the {self.num_accepts} of class {accept} (balanced accuracy "
            f"{self.balanced_accuracy:.2f}). It rejects {said}, {self.rejected} of them rightly."
        )

    @property
    def warning(self) -> str | None:
        """Why an explanation may be about the model only; None where it need not be."""
        if not self.has_both:
            return None
        recalls = (self.recall_on_rejects, self.recall_on_accepts)
        for name, recall in zip(self.class_names, recalls, strict=True):
            if recall < _HARDLY:
                return f"The model hardly ever predicts {name}: it knows {recall:.0%} of them. What turns its answers says little about the data."
        if self.balanced_accuracy < LEAST_BALANCED:
            return (
                f"The balanced accuracy of the model is {self.balanced_accuracy:.2f}, and a coin has 0.50: "
                "what turns its answers says little about the data."
            )
        return None
