"""Base of other explainers as sources of common recourses: they find counterfactuals, and clusters of their vectors are chosen.

To add one, write one file with a frozen keyword-only dataclass that inherits from `Baseline`, whose fields are its options, all with defaults,
and a method `run`; then name it in `algorithms.registry`. `explain_each` does the rest (order, seed, time, checkpoint, resuming) for a baseline
that explains one input after another: it needs only a function from (input, generator) to edits. Every counterfactual must be a discrete graph
that the classifier accepts in a plain forward pass (`Subject.accepted`).
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import PAPER_CHOICE, VectorAlgorithm, VectorChoice, VectorTask
from comrecgc.algorithms.checkpoint import Checkpoint, model_facts
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.reinforced_walk import CountingState, ResumableWalk
from comrecgc.algorithms.vectors.candidates import Candidates, RungCheck, pair_candidates
from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph, apply_path, batched, path_arrays, read_paths
from comrecgc.models import Classifier, Embedder
from comrecgc.run import UNLIMITED, Arrays, RunContext, require
from comrecgc.scoring import NeighbourhoodScorer

CHECKPOINT = "baseline.npz"
"""File of an unfinished baseline in the checkpoint folder."""

_KINDS = {"done": "i0", "inputs": "i1", "found_edits": "i2", "found_path_ptr": "i1"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """The inputs that a baseline explains, and the models."""

    scorer: NeighbourhoodScorer  # holds the classifier, the embedder and the edits that are allowed
    inputs: Sequence[Graph]  # the rejected graphs, with fresh ids
    graphs: Sequence[Graph]  # all graphs of the dataset, rejected and accepted

    @property
    def classifier(self) -> Classifier:
        """The classifier to be explained."""
        assert self.scorer.classifier is not None
        return self.scorer.classifier

    @property
    def embedder(self) -> Embedder:
        """The embedder, which computes `z`."""
        assert self.scorer.embedder is not None
        return self.scorer.embedder

    def accepted(self, graphs: Sequence[Graph]) -> npt.NDArray[np.float64]:
        """Probability of accept of each graph in a plain pass, `[n]`."""
        rows = [np.asarray(self.classifier.accept_probability(batch), np.float64) for batch in batched(graphs)]
        return np.concatenate([np.zeros(0), *rows])

    def embedded(self, graphs: Sequence[Graph]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """`z`, `[n, d]`, and `|G|`, `[n]`, of some graphs, at least one, in plain passes."""
        rows = [np.asarray(self.embedder.embed(batch), dtype=np.float32) for batch in batched(graphs)]
        return np.concatenate(rows), np.array([graph.size for graph in graphs], dtype=np.int32)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Counterfactual:
    """An accepted graph."""

    graph: Graph  # the graph; its ids are those of the input it was made from, if it was made from one
    probability: float  # probability of accept
    input: int | None = None  # place among the inputs of the one it was made from; None if it was made from none
    path: EditPath = ()  # edits from that input to the graph


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """What a baseline found."""

    found: tuple[Counterfactual, ...]  # those it values most first; summaries break ties by this order
    complete: bool = True  # whether it took all its steps; False if time was up

    def __len__(self) -> int:
        return len(self.found)


def explain_each(
    baseline: Baseline,
    subject: Subject,
    explain: Callable[[int, np.random.Generator], Sequence[EditPath]],
    rng: np.random.Generator,
    context: RunContext = UNLIMITED,
) -> Counterfactuals:
    """Explain one input after the other.

    `explain` gives the edits to the counterfactuals of the input at a position, best first; graphs that the classifier rejects are dropped. A
    checkpoint is resumed only by a `baseline` with the same options.
    """
    ends = range(1, len(subject.inputs) + 1)
    return explain_blocks(
        baseline, subject, lambda places, rngs: [explain(places.start, rngs[0])], rng, context, ends=ends
    )


def explain_blocks(
    baseline: Baseline,
    subject: Subject,
    explain: Callable[[range, Sequence[np.random.Generator]], Sequence[Sequence[EditPath]] | None],
    rng: np.random.Generator,
    context: RunContext = UNLIMITED,
    *,
    ends: Sequence[int],
) -> Counterfactuals:
    """Explain several inputs at once, block after block; block `b` ends before input `ends[b]`.

    Each input has its own generator, which depends on `rng` and the input's position only, so an interruption does not change the answer. `explain`
    gives, for a block of inputs, what the `explain` of `explain_each` gives for one; None if time was up.
    """
    kept = checkpoint_of(context, baseline.facts(subject, rng))
    context = context.searching(len(subject.inputs))
    seed, total = int(rng.integers(2**63)), len(subject.inputs)
    done, inputs, paths = kept.load(_KINDS, lambda arrays: _decode(arrays, total)) or (0, [], [])

    def encode() -> Arrays:
        columns = {"done": np.array(done), "inputs": np.array(inputs, dtype=np.int64)}
        return columns | path_arrays("found", paths)

    for end in ends:
        if end <= done or context.is_late:
            continue
        found = explain(range(done, end), [np.random.default_rng([seed, place]) for place in range(done, end)])
        if found is None:
            break
        for place, ways in enumerate(found, start=done):
            inputs += [place] * len(ways)
            paths += ways
        done = end
        context.show_progress("inputs", done, total, f"{len(paths)} counterfactuals")
        if kept.is_due:
            kept.save(encode)
    kept.save(encode)
    graphs = [apply_path(subject.inputs[i], edits) for i, edits in zip(inputs, paths, strict=True)]
    rows = zip(graphs, subject.accepted(graphs).tolist(), inputs, paths, strict=True)
    accepted = [
        Counterfactual(graph=graph, probability=p, input=i, path=edits) for graph, p, i, edits in rows if p > 0.5
    ]
    return Counterfactuals(tuple(accepted), complete=done == total)


TableState = TypeVar("TableState", bound=CountingState)


class CountingWalk(ResumableWalk[TableState]):
    """A walk that counts visits in a table, whose accepted graphs are the counterfactuals."""

    @abstractmethod
    def found(self, state: TableState) -> tuple[Counterfactual, ...]:
        """The accepted graphs of the table, in its order, checked by a plain pass."""

    def explain(self, facts: Any, rng: np.random.Generator, context: RunContext, num_inputs: int) -> Counterfactuals:
        """Walk, and take every accepted graph of the table, most visited first; `facts` are what the answer depends on."""

        def report(state: TableState) -> None:
            context.show_progress("walk", state.step, self.num_steps, f"{len(state.table)} graphs")

        state = self.run(rng, checkpoint_of(context, facts), context.searching(num_inputs), report)
        return Counterfactuals(self.found(state), complete=state.step >= self.num_steps)


def checkpoint_of(context: RunContext, facts: Any, name: str = CHECKPOINT) -> Checkpoint:
    """The checkpoint of a baseline in the folder of the run."""
    return Checkpoint(None if context.folder is None else context.folder / name, facts, context.resume)


def _decode(arrays: Arrays, num_inputs: int) -> tuple[int, list[int], list[EditPath]]:
    """The number of inputs explained, and the input and the edits of each counterfactual."""
    done, inputs, paths = int(arrays["done"]), arrays["inputs"].tolist(), read_paths("found", arrays)
    require(0 <= done <= num_inputs, "no more inputs can be done than there are")
    require(all(0 <= i < done for i in inputs), "counterfactuals must be of inputs that are done")
    require(len(paths) == len(inputs), "every counterfactual must have its edits")
    return done, inputs, paths


@dataclass(frozen=True, kw_only=True)
class Baseline(VectorAlgorithm):
    """Another explainer as a source of counterfactuals, with the paper's settings."""

    as_published: ClassVar[bool] = True

    changes: str = "any"
    choice: VectorChoice = PAPER_CHOICE

    def options(self) -> dict[str, Any]:
        """The options of the explainer itself, which its counterfactuals depend on."""
        shared = {known.name for known in fields(Baseline)}
        return {known.name: getattr(self, known.name) for known in fields(self) if known.name not in shared}

    def facts(self, subject: Subject, rng: np.random.Generator) -> dict[str, Any]:
        """Everything the answer depends on, as JSON values: options, randomness, inputs, models, allowed edits."""
        return {
            "baseline": self.name,
            "options": self.options(),
            "rng": hashlib.sha256(json.dumps(rng.bit_generator.state).encode()).hexdigest()[:16],
            **model_facts(subject.scorer, subject.inputs),
        }

    @abstractmethod
    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Find counterfactuals until done or out of time. All randomness comes from `rng`."""

    def find(
        self, task: VectorTask, scorer: NeighbourhoodScorer, rejects: Rejects, check: RungCheck, context: RunContext
    ) -> Candidates:
        """The explainer's counterfactuals, each paired with every input within θ; on a rung of the ladder, only with the input it was made from."""
        inputs = rejects.graphs
        subject = Subject(scorer=scorer, inputs=inputs, graphs=rejects.dataset.graphs)
        found = self.run(subject, np.random.default_rng(task.random_state), context)
        if check is not None:
            found = replace(found, found=self._on_rung(found.found, inputs, check))
        rows = [(each.graph, each.input, each.path) for each in found.found]
        candidates = pair_candidates(rejects, subject.embedder, rows, task.theta, own_only=check is not None)
        return replace(candidates, complete=found.complete)

    def _on_rung(
        self, found: Sequence[Counterfactual], inputs: Sequence[Graph], check: RungCheck
    ) -> tuple[Counterfactual, ...]:
        """The counterfactuals that were made from an input and stand on the rung."""
        made = [each for each in found if each.input is not None]
        if found and not made:
            raise InputError(
                f"The counterfactuals of {self.name} are made from no input, so only changes='any' fits (got {self.changes!r})"
            )
        if not made:
            return ()
        assert check is not None
        kept = check([inputs[each.input] for each in made if each.input is not None], [each.graph for each in made])
        return tuple(each for each, stays in zip(made, kept.tolist(), strict=True) if stays)


# The simplest one: counterfactuals that are in the data, as COMRECGC's tables have them.


@dataclass(frozen=True, kw_only=True)
class DatasetCounterfactuals(Baseline):
    """The accepted graphs of the dataset as counterfactuals, without any search."""

    name: ClassVar[str] = "dataset"
    fc_subset: ClassVar[str] = "all"

    choice: VectorChoice = replace(PAPER_CHOICE, min_samples=1)  # noqa: RUF009  # as in the paper's tables: lone pairs count as common

    def run(
        self,
        subject: Subject,
        rng: np.random.Generator,  # noqa: ARG002
        context: RunContext = UNLIMITED,
    ) -> Counterfactuals:
        """The accepted graphs."""
        probability = subject.accepted(subject.graphs).tolist()
        found = tuple(
            Counterfactual(graph=graph.fresh(), probability=p)
            for graph, p in zip(subject.graphs, probability, strict=True)
            if p > 0.5
        )
        context.show_progress("dataset", len(subject.graphs), len(subject.graphs), f"{len(found)} counterfactuals")
        return Counterfactuals(found)
