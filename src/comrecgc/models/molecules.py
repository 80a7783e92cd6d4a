"""Adapters for models of molecules: functions of SMILES or of rdkit molecules, and networks with features of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch
from comrecgc.models import classifier as base
from comrecgc.models.adapter import trial_graphs
from comrecgc.models.classifier import FloatArray, ScoreReading, as_scores, check_labels, choose_output, find_output
from comrecgc.models.networks import evaluation_mode
from comrecgc.molecules import canonical_smiles, sanitise

if TYPE_CHECKING:
    from rdkit.Chem import Mol


_AT_ONCE = 1024  # molecules of one call
_REMEMBERED = 1_000_000  # most answers kept
_LONGEST_REASON = 200

log = logging.getLogger("comrecgc")


@dataclass(frozen=True, eq=False, kw_only=True)
class MoleculeClassifier:
    """A model of molecules as a classifier. Made by `as_classifier`.

    Answers are cached, so that the model sees every molecule once. A graph that is no molecule is not accepted. Nor is a molecule on which the model
    fails: the failure is logged, and other molecules of the same call are tried again.
    """

    model: Callable[..., Any]  # a function, or a torch module
    call: str  # "smiles" or "molecules" for lists of these, or how a network takes what `featurise` makes
    label_names: tuple[str, ...]  # atom behind each node label
    featurise: Callable[[Any], Any] | None = None  # PyG `Data` of an rdkit molecule, for networks
    output: int | str | None = None  # which of several outputs holds the scores
    kwargs: Mapping[str, Any] = field(default_factory=dict)  # further keyword arguments of every call
    num_scores: int | None = None  # scores per molecule
    reading: ScoreReading = field(default_factory=ScoreReading)  # how the scores are read
    known: dict[str, float] = field(default_factory=dict)  # probabilities so far, by canonical SMILES
    failures: dict[str, str] = field(default_factory=dict)  # messages of the model's failures, by SMILES

    @property
    def num_labels(self) -> int:
        return len(self.label_names)

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of the target class of every molecule, `[B]`; 0 for graphs that are no molecules."""
        check_labels(batch, self.num_labels)
        molecules = [sanitise(graph, self.label_names) for graph in batch]
        names = [None if molecule is None else canonical_smiles(molecule) for molecule in molecules]
        asked = {name: molecule for name, molecule in zip(names, molecules, strict=True) if name is not None}
        todo = [pair for pair in asked.items() if pair[0] not in self.known]
        if len(self.known) + len(todo) > _REMEMBERED:
            self.known.clear()
            todo = list(asked.items())
        for start in range(0, len(todo), _AT_ONCE):
            self._ask(todo[start : start + _AT_ONCE])
        return np.array([0.0 if name is None else self.known[name] for name in names])

    def _ask(self, molecules: Sequence[tuple[str, Mol]]) -> None:
        """Compute the answers on new molecules; if the model fails, on each half separately."""
        try:
            scores = as_scores(choose_output(self.answer(molecules), self.output), len(molecules), 0, self.num_scores)
            probability = self.reading.probability(scores)
        except InputError as error:
            if len(molecules) > 1:
                middle = len(molecules) // 2
                self._ask(molecules[:middle])
                self._ask(molecules[middle:])
                return
            name = molecules[0][0]
            self.failures[name] = str(error)
            self.known[name] = 0.0
            if len(self.failures) == 1:
                log.warning("%s; it counts as not accepted, as do others on which the model fails", error)
            return
        self.known.update(zip((name for name, _ in molecules), probability.tolist(), strict=True))

    def answer(self, molecules: Sequence[tuple[str, Mol]]) -> Any:
        """The model's raw answer."""
        try:
            if self.call == "smiles":
                return self.model([name for name, _ in molecules], **self.kwargs)
            if self.call == "molecules":
                return self.model([molecule for _, molecule in molecules], **self.kwargs)
            arguments, named = self._tensors([molecule for _, molecule in molecules])
            with evaluation_mode(self.model):
                return self.model(*arguments, **named, **self.kwargs)
        except Exception as error:  # a model may fail in any way; its message becomes one line
            words = " ".join(str(error).split())[:_LONGEST_REASON]
            which = molecules[0][0] if len(molecules) == 1 else f"{len(molecules)} molecules"
            raise InputError(f"The model failed on {which}: {type(error).__name__}: {words}") from error

    def _tensors(self, molecules: Sequence[Mol]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments of a network."""
        from torch_geometric.data import Batch

        assert self.featurise is not None
        data = [self.featurise(molecule) for molecule in molecules]
        if self.call == "data_list":
            return [data], {}
        batch = Batch.from_data_list(data).to(base.model_device(self.model))
        if self.call == "data":
            return [batch], {}
        named = {
            name: batch[name]
            for name in ("edge_attr", "batch")
            if name in base.model_parameters(self.model) and name in batch
        }
        return [batch.x, batch.edge_index, *([] if "batch" in named else [batch.batch])], named


def as_molecule_classifier(
    model: Callable[..., Any],
    dataset: GraphDataset,
    *,
    call: str,
    featurise: Callable[[Any], Any] | None,
    reading: Callable[[FloatArray], ScoreReading],
    output: int | str | None,
    kwargs: Mapping[str, Any],
) -> MoleculeClassifier:
    """Adapt a model of molecules and try it on some of the data; arguments as of `as_classifier`, those that read scores as one function of them."""
    if not dataset.is_molecular:
        raise InputError(f"Models of molecules need graphs of atoms (got labels {', '.join(dataset.label_names)[:80]})")
    adapted = MoleculeClassifier(
        model=model, call=call, label_names=dataset.label_names, featurise=featurise, output=output, kwargs=kwargs
    )
    molecules = [sanitise(graph, dataset.label_names) for graph in trial_graphs(dataset)]
    trial = [(canonical_smiles(molecule), molecule) for molecule in molecules if molecule is not None]
    if not trial:
        raise InputError(
            f"The model is tried on molecules of the dataset (got none that rdkit accepts in {dataset.name})"
        )
    answer, num = _first_answer(adapted, trial)
    output = find_output(answer, num) if output is None else output
    scores = as_scores(choose_output(answer, output), num, 0)
    found = reading(scores)
    if found.source_class is not None:
        raise InputError("reject is for models of graphs: leave other molecules out of the data (got one)")
    return replace(adapted, output=output, num_scores=scores.shape[1], reading=found)


def _first_answer(adapted: MoleculeClassifier, trial: Sequence[tuple[str, Mol]]) -> tuple[Any, int]:
    """The answer on the trial molecules, without those on which the model fails even alone, and their number."""
    try:
        return adapted.answer(trial), len(trial)
    except InputError as error:
        complaint, good = error, []
    for one in trial:
        try:
            adapted.answer([one])
            good.append(one)
        except InputError as error:
            complaint = error
    if not good:
        raise complaint
    return adapted.answer(good), len(good)
