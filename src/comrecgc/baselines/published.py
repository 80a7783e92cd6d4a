"""COMRECGC (ICML 2025) as its authors ran it, beside the walk of the paper's text (`comrecgc.walk`).

In every public revision of the code the heads never advance: the graphs chosen in a step are recorded, and the next step starts
again from the same inputs until all heads restart. So every counterfactual is one edit away from an input. The rest is as the code
has it, too: restarts draw heads with replacement, a head may not stay, and a graph that a follower meets first counts twice.
The code knows graphs by the bytes of their embedding, whose last bits depend on the order of nodes and on the batch, so it takes
isomorphic graphs for different ones; how often is unknown, and `identity` gives the range.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.baselines.frequencies import FrequencyTable
from comrecgc.baselines.source import (
    CHECKPOINT,
    Counterfactual,
    Counterfactuals,
    Progress,
    Subject,
    accepted_graphs,
    run_facts,
    walk_on,
)
from comrecgc.errors import InputError
from comrecgc.graphs import EditTable, GraphBatch, allowed_edits, apply_edit, batch_keys
from comrecgc.neighbourhood import Neighbourhood
from comrecgc.recourse import FloatArray, recourse_vectors
from comrecgc.storage import check_same_facts, load_arrays, refusing_damage, require, save_arrays
from comrecgc.walk import draw, teleport_distribution

_KINDS = {
    "rng": "U0", "step": "i0", "starts": "i1", "heads": "i1",
    "keys": "u1", "frequencies": "i1", "inputs": "i1", "edits": "i1",
}  # fmt: skip
IDENTITIES = ("graph", "edit", "restart")
_REPORTED = 100  # steps between two reports
_EDIT_BITS, _RESTART_BITS = 20, 44  # an identity is the number of the edit, of the input and of the restart
_START = -1  # stands for the edit of an input as it is


@dataclass(frozen=True, kw_only=True)
class PublishedWalk:
    """The walk of the published code, with the settings of its tables.

    Args:
        num_heads: `k`.
        num_steps: `M`.
        teleport: `τ`, the probability that a step sends all heads to inputs.
        sample: Edits looked at of an input that has more; they are drawn once.
        capacity: Graphs the table of visits holds.
        identity: When two graphs are the same: "graph" if they are isomorphic, "edit" if they are also made by the same edit of the
            same input, "restart" if they are also met between the same two restarts.
    """

    num_heads: int = 5
    num_steps: int = 50_000
    teleport: float = 0.05
    sample: int = 1000
    capacity: int = 100_000
    identity: str = "restart"

    def __post_init__(self) -> None:
        for name in ("num_heads", "num_steps", "sample", "capacity"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")
        if not 0 < self.teleport < 1:
            raise InputError(f"teleport must lie strictly between 0 and 1 (got {self.teleport})")
        if self.identity not in IDENTITIES:
            raise InputError(f"identity must be one of {', '.join(IDENTITIES)} (got {self.identity!r})")

    def run(
        self,
        subject: Subject,
        rng: np.random.Generator,
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Counterfactuals:
        """Walk, and take every accepted graph of the table, most visited first."""
        if not subject.inputs:
            return Counterfactuals(())
        facts = run_facts(self, subject, rng)
        path = None if checkpoint is None else checkpoint / CHECKPOINT
        walker = PublishedWalker(self, subject, seed=int(rng.integers(2**63)))
        if resume and path is not None and path.exists():
            state = _load(path, self, len(subject.inputs), facts)
        else:
            state = walker.begin(rng)
        walk_on(
            state, walker.step, self.num_steps, reported=_REPORTED, deadline=deadline, progress=progress,
            save=None if path is None else partial(_save, path, state, facts),
        )  # fmt: skip
        return Counterfactuals(walker.found(state), complete=state.step >= self.num_steps)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The neighbours of one input that the walk may ever see.

    Args:
        table: The edit that leads to each, `[N]`.
        keys: Identity of each, restarts aside, `[N]`.
        probability: Probability of accept of each, `[N]`.
        recourses: `r(G,v)` of each, `[N, d]`.
    """

    table: EditTable
    keys: npt.NDArray[np.uint64]
    probability: FloatArray
    recourses: FloatArray


@dataclass(eq=False)
class PublishedState:
    """Everything a walk is at one moment.

    Args:
        rng: Source of all its randomness.
        starts: `t(G)`: heads ever started at each input, `[num_inputs]`.
        table: Visits.
        origin: Where each graph of the table was first met: an input and the place of an edit of it.
        heads: The input each head stands on.
        step: Steps done.
    """

    rng: np.random.Generator
    starts: npt.NDArray[np.int64]
    table: FrequencyTable
    origin: dict[int, tuple[int, int]] = field(default_factory=dict)
    heads: list[int] = field(default_factory=list)
    step: int = 0


class PublishedWalker:
    """A published walk bound to its inputs and models.

    Args:
        walk: The parameters.
        subject: The models and the graphs.
        seed: Of the draws from large neighbourhoods.
    """

    def __init__(self, walk: PublishedWalk, subject: Subject, seed: int) -> None:
        self.walk = walk
        self.subject = subject
        self.seed = seed
        batch = GraphBatch.from_graphs(subject.inputs)
        self.origins = np.asarray(subject.embedder.embed(batch), dtype=np.float32)
        self.keys = [int(key) for key in batch_keys(batch)]
        self._around: dict[int, Surroundings] = {}

    def around(self, place: int) -> Surroundings:
        """The neighbours of an input, drawn and scored once."""
        known = self._around.get(place)
        if known is None:
            graph = self.subject.inputs[place]
            rng = np.random.default_rng([self.seed, place])
            (hood,) = self.subject.scorer.complete([self._drawn(place, rng)])
            assert hood.probability is not None
            assert hood.embedding is not None
            sizes = graph.size + hood.table.size_changes()
            recourses = recourse_vectors(self.origins[place], graph.size, hood.embedding, sizes)
            known = self._around[place] = Surroundings(hood.table, hood.keys, hood.probability, recourses)
        return known

    def _drawn(self, place: int, rng: np.random.Generator) -> Neighbourhood:
        """The neighbours of an input that are looked at, with nothing known but who they are."""
        graph, scorer = self.subject.inputs[place], self.subject.scorer
        if self.walk.identity == "graph":
            (hood,) = scorer.score([graph], probability=False, embedding=False, sample=self.walk.sample, rng=rng)
            return hood
        table = allowed_edits(graph, scorer.num_labels, scorer.constraint)
        if len(table) > self.walk.sample:
            table = table.select(np.sort(rng.choice(len(table), self.walk.sample, replace=False)))
        keys = np.arange(len(table), dtype=np.uint64) + np.uint64((place + 1) << _EDIT_BITS)
        return Neighbourhood(graph=graph, table=table, keys=keys)

    def begin(self, rng: np.random.Generator) -> PublishedState:
        """The heads on inputs drawn with replacement."""
        state = PublishedState(rng, np.zeros(len(self.subject.inputs), np.int64), FrequencyTable(self.walk.capacity))
        self._restart(state)
        return state

    def step(self, state: PublishedState) -> list[tuple[int, int]]:
        """Restart, or let a lead and its followers choose graphs, which are recorded; the heads stay where they are.

        Returns:
            The input and the place of the edit that each head chose, the lead first; nothing on a restart.
        """
        state.step += 1
        if state.rng.random() < self.walk.teleport:
            self._restart(state)
            return []
        return self._choose(state)

    def found(self, state: PublishedState) -> tuple[Counterfactual, ...]:
        """The accepted graphs of the table in its order."""
        rows = [(key, *state.origin[key]) for key in state.table.keys]
        likely = [(place, at) for _, place, at in rows if at != _START and self.around(place).probability[at] >= 0.5]
        edits = [self.around(place).table[at] for place, at in likely]
        inputs = self.subject.inputs
        graphs = [apply_edit(inputs[place], edit) for (place, _), edit in zip(likely, edits, strict=True)]
        probability = accepted_graphs(self.subject, graphs).tolist()
        return tuple(
            Counterfactual(graph=graph, probability=p, input=place, path=(edit,))
            for graph, p, (place, _), edit in zip(graphs, probability, likely, edits, strict=True)
            if p > 0.5
        )

    def _restart(self, state: PublishedState) -> None:
        weights = teleport_distribution(state.starts)
        state.heads = [draw(weights, state.rng) for _ in range(self.walk.num_heads)]
        np.add.at(state.starts, state.heads, 1)
        for place in state.heads:
            self._record(state, self.keys[place] ^ self._era(state), (place, _START), accepted=False)

    def _choose(self, state: PublishedState) -> list[tuple[int, int]]:
        lead = int(state.rng.integers(self.walk.num_heads))
        around, era = self.around(state.heads[lead]), self._era(state)
        if not len(around.keys):
            return []
        keys = (around.keys ^ np.uint64(era)).tolist()
        counts = np.fromiter(state.table.frequency(keys), np.float64, len(keys))
        weights = around.probability * counts
        total = weights.sum()
        chosen = draw(weights if total > 0 else np.ones_like(weights), state.rng)
        target = around.recourses[chosen]
        picks, followers, noted = [], [], set[int]()
        for head, place in enumerate(state.heads):
            at = chosen if head == lead else _nearest(self.around(place), target)
            if at is None:
                continue
            hood = self.around(place)
            key, accepted = int(hood.keys[at]) ^ era, bool(hood.probability[at] >= 0.5)
            picks.append((key, (place, at), accepted))
            followers += [(place, at)] if head != lead else []
            if head != lead and key not in state.table:  # the code notes what a follower finds as it finds it
                self._record(state, key, (place, at), accepted=accepted)
                noted.add(key)
        for key, origin, accepted in picks:
            # One that was noted and has since been dropped comes back beyond the capacity.
            self._record(state, key, origin, accepted=accepted, beyond=key in noted)
        return [(state.heads[lead], chosen), *followers]

    def _era(self, state: PublishedState) -> int:
        """What tells graphs met after the latest restart from those met before."""
        return int(state.starts.sum()) // self.walk.num_heads << _RESTART_BITS if self.walk.identity == "restart" else 0

    def _record(
        self, state: PublishedState, key: int, origin: tuple[int, int], *, accepted: bool, beyond: bool = False
    ) -> None:
        dropped = state.table.visit(key, accepted=accepted, beyond=beyond)
        if dropped is not None:
            del state.origin[dropped]
        state.origin.setdefault(key, origin)


def steps_in_common(
    walk: PublishedWalk, subject: Subject, rng: np.random.Generator, *, theta: float, delta: float
) -> list[frozenset[int]]:
    """Sets of at least two inputs that shared a recourse in some step, each set once: the lead's input and those whose heads came within `Δ` of its
    vector, all with accepted graphs within `θ`. What the walk finds in common by itself, before any clusters.

    Args:
        walk: The walk.
        subject: The models and the graphs.
        rng: Source of all randomness.
        theta: Largest length of a vector.
        delta: Largest distance of two vectors that are the same recourse.
    """
    walker = PublishedWalker(walk, subject, seed=int(rng.integers(2**63)))
    state, sets = walker.begin(rng), dict[frozenset[int], None]()
    for _ in range(walk.num_steps):
        picks = walker.step(state)
        rows = [(walker.around(place).recourses[at], walker.around(place).probability[at]) for place, at in picks]
        stands = [p >= 0.5 and np.linalg.norm(vector) <= theta for vector, p in rows]
        if picks and stands[0]:
            near = [np.linalg.norm(vector - rows[0][0]) <= delta for vector, _ in rows]
            sets[frozenset(picks[i][0] for i in range(len(picks)) if stands[i] and near[i])] = None
    return [inputs for inputs in sets if len(inputs) > 1]


def _nearest(around: Surroundings, target: FloatArray) -> int | None:
    """The neighbour whose recourse is nearest to the lead's."""
    if not len(around.keys):
        return None
    gaps = around.recourses - target
    return int(np.einsum("nd,nd->n", gaps, gaps).argmin())


def _save(path: Path, state: PublishedState, facts: dict[str, Any]) -> None:
    origins = np.array([state.origin[key] for key in state.table.keys], dtype=np.int64).reshape(-1, 2)
    save_arrays(
        path,
        {
            "rng": np.array(json.dumps(state.rng.bit_generator.state)),
            "step": np.array(state.step),
            "starts": state.starts,
            "heads": np.array(state.heads, dtype=np.int64),
            "keys": np.array(state.table.keys, dtype=np.uint64),
            "frequencies": state.table.frequencies,
            "inputs": origins[:, 0],
            "edits": origins[:, 1],
        },
        facts,
    )


def _load(path: Path, walk: PublishedWalk, num_inputs: int, facts: dict[str, Any]) -> PublishedState:
    arrays, theirs = load_arrays(path, _KINDS)
    check_same_facts(path, theirs, facts)
    with refusing_damage(path):
        inputs, edits, keys = arrays["inputs"], arrays["edits"], arrays["keys"].tolist()
        heads = arrays["heads"].tolist()
        require(arrays["starts"].shape == (num_inputs,), "starts are counted for every input")
        require(len(heads) == walk.num_heads and all(0 <= h < num_inputs for h in heads), "heads stand on inputs")
        require(((inputs >= 0) & (inputs < num_inputs)).all() and (edits >= _START).all(), "graphs are near inputs")
        require(len(keys) == len(inputs) == len(edits) == len(arrays["frequencies"]), "every graph has all its facts")
        require((np.diff(arrays["frequencies"]) <= 0).all(), "the most visited come first")
        rng = np.random.default_rng()
        rng.bit_generator.state = json.loads(str(arrays["rng"]))
        table = FrequencyTable(walk.capacity)
        table.restore(keys, arrays["frequencies"].tolist())
        origin = dict(zip(keys, zip(inputs.tolist(), edits.tolist(), strict=True), strict=True))
        return PublishedState(rng, arrays["starts"].astype(np.int64), table, origin, heads, int(arrays["step"]))
