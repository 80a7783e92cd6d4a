"""What every baseline works with: rejected graphs and models in, accepted graphs out, one input or one step after another."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.baselines.frequencies import FrequencyTable
from comrecgc.graphs import EditPath, Graph, GraphBatch, apply_path, fingerprint, path_arrays, read_paths
from comrecgc.models import Classifier, Embedder
from comrecgc.run import Progress, check_same_facts, load_arrays, refusing_damage, require, save_arrays
from comrecgc.scoring import NeighbourhoodScorer

if TYPE_CHECKING:
    from comrecgc.algorithms.baselines.baseline import Baseline

CHECKPOINT = "baseline.npz"
"""File of an unfinished baseline in the folder that keeps it."""

CHECKPOINT_SECONDS = 20.0

_KINDS = {"done": "i0", "inputs": "i1", "edits": "i2", "path_ptr": "i1"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """What is explained.

    Args:
        scorer: Holds the classifier, the embedder and the edits that are allowed, and scores neighbourhoods.
        inputs: The rejected graphs, with fresh ids.
        graphs: All graphs of the dataset, rejected and accepted.
    """

    scorer: NeighbourhoodScorer
    inputs: Sequence[Graph]
    graphs: Sequence[Graph]

    @property
    def classifier(self) -> Classifier:
        """Gives the probability of accept."""
        assert self.scorer.classifier is not None
        return self.scorer.classifier

    @property
    def embedder(self) -> Embedder:
        """Gives `z`."""
        assert self.scorer.embedder is not None
        return self.scorer.embedder


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Counterfactual:
    """An accepted graph.

    Args:
        graph: The graph; its ids are those of the input it was made from, if it was made from one.
        probability: Probability of accept.
        input: Place among the inputs of the one it was made from; None if it was made from none.
        path: Edits from that input to the graph.
    """

    graph: Graph
    probability: float
    input: int | None = None
    path: EditPath = ()


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """What a baseline found.

    Args:
        found: The counterfactuals, those it values most first; summaries break ties by this order.
        complete: Whether it ended of itself; False if time was up.
    """

    found: tuple[Counterfactual, ...]
    complete: bool = True

    def __len__(self) -> int:
        return len(self.found)


def accepted_graphs(subject: Subject, graphs: Sequence[Graph], *, at_once: int = 4096) -> npt.NDArray[np.float64]:
    """Probability of accept of each graph in a plain pass, `[n]`."""
    parts = [graphs[start : start + at_once] for start in range(0, len(graphs), at_once)]
    said = [subject.classifier.accept_probability(GraphBatch.from_graphs(part)) for part in parts]
    return np.concatenate([np.zeros(0), *(np.asarray(rows, dtype=np.float64) for rows in said)])


def embedded(
    subject: Subject, graphs: Sequence[Graph], *, at_once: int = 4096
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """`z`, `[n, d]`, and `|G|`, `[n]`, of some graphs, at least one, in plain passes."""
    parts = [graphs[start : start + at_once] for start in range(0, len(graphs), at_once)]
    rows = [np.asarray(subject.embedder.embed(GraphBatch.from_graphs(part)), dtype=np.float32) for part in parts]
    return np.concatenate(rows), np.array([graph.size for graph in graphs], dtype=np.int32)


def explain_each(
    baseline: Baseline,
    subject: Subject,
    explain: Callable[[int, np.random.Generator], Sequence[EditPath]],
    rng: np.random.Generator,
    *,
    deadline: float | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    facts: Any = None,
) -> Counterfactuals:
    """Explain one input after the other.

    Each input has a generator of its own that depends on `rng` and its place alone, so it does not matter where a run was cut.

    Args:
        baseline: The baseline itself: a checkpoint is of one with the same options only.
        subject: The models and the graphs.
        explain: Gives the edits to the counterfactuals of the input at a place, best first; none where it finds none. Those
            whose end the classifier does not accept are dropped.
        rng: Source of all randomness.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called after every input.
        checkpoint: Folder for the checkpoint.
        resume: Go on from the checkpoint.
        facts: What else the answer depends on, as JSON values.
    """
    return explain_blocks(
        baseline,
        subject,
        lambda places, generators: [explain(places.start, generators[0])],
        rng,
        ends=range(1, len(subject.inputs) + 1),
        deadline=deadline,
        progress=progress,
        checkpoint=checkpoint,
        resume=resume,
        facts=facts,
    )


def explain_blocks(
    baseline: Baseline,
    subject: Subject,
    explain: Callable[[range, Sequence[np.random.Generator]], Sequence[Sequence[EditPath]] | None],
    rng: np.random.Generator,
    *,
    ends: Sequence[int],
    deadline: float | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    facts: Any = None,
) -> Counterfactuals:
    """Explain several inputs at once, block after block. Arguments as of `explain_each`, but for:

    Args:
        baseline: The baseline itself.
        subject: The models and the graphs.
        explain: Gives, for the inputs at some places and their generators, what `explain` of `explain_each` gives for one; None
            if time was up.
        rng: Source of all randomness.
        ends: Place behind the last input of each block, increasing.
        deadline: When to stop.
        progress: Called after every block.
        checkpoint: Folder for the checkpoint.
        resume: Go on from the checkpoint.
        facts: What else the answer depends on.
    """
    made_of = [run_facts(baseline, subject, rng), facts]
    seed = int(rng.integers(2**63))
    path = None if checkpoint is None else checkpoint / CHECKPOINT
    done, inputs, paths = 0, list[int](), list[EditPath]()
    if resume and path is not None and path.exists():
        done, inputs, paths = _load(path, len(subject.inputs), made_of)
    saved, total = time.monotonic(), len(subject.inputs)
    for end in ends:
        if end <= done or (deadline is not None and time.monotonic() >= deadline):
            continue
        found = explain(range(done, end), [np.random.default_rng([seed, place]) for place in range(done, end)])
        if found is None:
            break
        for place, ways in enumerate(found, start=done):
            inputs += [place] * len(ways)
            paths += ways
        done = end
        if progress is not None:
            progress("inputs", done, total, f"{len(paths)} counterfactuals")
        if path is not None and (done == total or time.monotonic() - saved >= CHECKPOINT_SECONDS):
            _save(path, done, inputs, paths, made_of)
            saved = time.monotonic()
    if path is not None and done < total:
        _save(path, done, inputs, paths, made_of)
    graphs = [apply_path(subject.inputs[i], edits) for i, edits in zip(inputs, paths, strict=True)]
    rows = zip(graphs, accepted_graphs(subject, graphs).tolist(), inputs, paths, strict=True)
    accepted = [
        Counterfactual(graph=graph, probability=p, input=i, path=edits) for graph, p, i, edits in rows if p > 0.5
    ]
    return Counterfactuals(tuple(accepted), complete=done == total)


class WalkState(Protocol):
    """What `walk_on` asks of the state of a walk: steps done, and a table of graphs."""

    step: int
    table: FrequencyTable


State = TypeVar("State", bound=WalkState)


def walk_on(
    state: State,
    step: Callable[[State], object],
    num_steps: int,
    *,
    reported: int,
    deadline: float | None,
    progress: Progress | None,
    save: Callable[[], None] | None,
) -> None:
    """Take the steps that are left, or as many as there is time for.

    Args:
        state: The walk; it is changed.
        step: Takes one step.
        num_steps: Steps in all.
        reported: Steps between two reports.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called with the steps done.
        save: Keeps the walk, now and then and at the end; None keeps nothing.
    """
    saved = time.monotonic()
    while state.step < num_steps and (deadline is None or time.monotonic() < deadline):
        step(state)
        if progress is not None and state.step % reported == 0:
            progress("walk", state.step, num_steps, f"{len(state.table)} graphs")
        if save is not None and time.monotonic() - saved >= CHECKPOINT_SECONDS:
            save()
            saved = time.monotonic()
    if save is not None:
        save()


def run_facts(baseline: Baseline, subject: Subject, rng: np.random.Generator) -> dict[str, Any]:
    """What the answer of a baseline depends on: options, inputs, models as seen on them, allowed edits, randomness."""
    batch = GraphBatch.from_graphs(subject.inputs)
    said = np.asarray(subject.classifier.accept_probability(batch), dtype=np.float64).tobytes()
    said += np.asarray(subject.embedder.embed(batch), dtype=np.float32).tobytes()
    return {
        "baseline": baseline.name,
        "options": baseline.options(),
        "inputs": fingerprint(subject.inputs),
        "models": hashlib.sha256(said).hexdigest()[:16],
        "constraint": repr(subject.scorer.constraint),
        "rng": hashlib.sha256(json.dumps(rng.bit_generator.state).encode()).hexdigest()[:16],
    }


def _save(path: Path, done: int, inputs: Sequence[int], paths: Sequence[EditPath], facts: Any) -> None:
    arrays = path_arrays("found", paths)
    save_arrays(
        path,
        {
            "done": np.array(done),
            "inputs": np.array(inputs, dtype=np.int64),
            "edits": arrays["found_edits"],
            "path_ptr": arrays["found_path_ptr"],
        },
        facts,
    )


def _load(path: Path, num_inputs: int, facts: Any) -> tuple[int, list[int], list[EditPath]]:
    arrays, theirs = load_arrays(path, _KINDS)
    check_same_facts(path, theirs, facts)
    with refusing_damage(path):
        done, inputs = int(arrays["done"]), arrays["inputs"].tolist()
        require(0 <= done <= num_inputs, "no more inputs are done than there are")
        require(all(0 <= i < done for i in inputs), "counterfactuals are of inputs that are done")
        paths = read_paths("found", {f"found_{name}": arrays[name] for name in ("edits", "path_ptr")})
        require(len(paths) == len(inputs), "every counterfactual has its edits")
        return done, inputs, paths
