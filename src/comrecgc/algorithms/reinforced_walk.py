"""The vertex-reinforced random walk over graphs. Both versions of COMRECGC's, GCFExplainer's and the local walk subclass it with their own steps.

Heads stand on graphs. With probability τ a step sends them back to inputs; otherwise they move along edits, more likely to graphs visited often.
Everything that changes is in a state, which a checkpoint stores for walks that are resumed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.checkpoint import Checkpoint, decode_rng, encode_rng
from comrecgc.run import UNLIMITED, Arrays, RunContext, require

FIRST_FREQUENCY = 2
_FIRST_ROOM = 1024
_REPORTED = 20  # steps between two reports


@dataclass(eq=False, kw_only=True)
class WalkState:
    """State of any walk."""

    rng: np.random.Generator  # source of all its randomness
    step: int = 0  # steps taken


State = TypeVar("State", bound=WalkState)


class ReinforcedWalk(ABC, Generic[State]):
    """A walk of `M` steps bound to its inputs and models: the step rules.

    With probability `τ` a step sends the heads back to inputs.
    """

    def __init__(self, num_steps: int, teleport: float) -> None:
        self.num_steps, self.teleport = num_steps, teleport

    @abstractmethod
    def begin(self, rng: np.random.Generator) -> State:
        """A state with the heads on their first inputs."""

    @abstractmethod
    def restart(self, state: State) -> None:
        """Send the heads back to inputs, and count the visits if the walk does."""

    @abstractmethod
    def move(self, state: State) -> None:
        """Move the heads, and count what they visit."""

    def step(self, state: State) -> None:
        """One step of the walk."""
        if state.rng.random() < self.teleport:
            self.restart(state)
        else:
            self.move(state)
        state.step += 1

    def run(self, rng: np.random.Generator) -> State:
        """Take all steps."""
        state = self.begin(rng)
        while state.step < self.num_steps:
            self.step(state)
        return state


class ResumableWalk(ReinforcedWalk[State]):
    """A walk whose state a checkpoint stores."""

    kinds: ClassVar[Mapping[str, str]]
    """Kinds of the arrays that `encode` makes, as of `load_arrays`."""

    @abstractmethod
    def encode(self, state: State) -> Arrays:
        """The state as arrays, without generator and step."""

    @abstractmethod
    def decode(self, arrays: Arrays, rng: np.random.Generator, step: int) -> State:
        """The inverse of `encode`."""

    def run(
        self,
        rng: np.random.Generator,
        checkpoint: Checkpoint | None = None,
        context: RunContext = UNLIMITED,
        progress: Callable[[State], None] | None = None,
    ) -> State:
        """Take all steps, or as many as time allows, from the checkpoint if there is one.

        Progress is called now and then and after the last step.
        """
        kept = Checkpoint() if checkpoint is None else checkpoint
        state = self.load(kept) or self.begin(rng)
        while state.step < self.num_steps and not context.is_late:
            self.step(state)
            if progress is not None and (state.step % _REPORTED == 0 or state.step == self.num_steps):
                progress(state)
            if kept.is_due:
                self.save(state, kept)
        self.save(state, kept)
        return state

    def save(self, state: State, checkpoint: Checkpoint) -> None:
        """Store a state."""
        shared = {"rng": encode_rng(state.rng), "step": np.array(state.step)}
        checkpoint.save(lambda: shared | self.encode(state))

    def load(self, checkpoint: Checkpoint) -> State | None:
        """The stored state; None if there is nothing to resume."""

        def decode(arrays: Arrays) -> State:
            step = int(arrays["step"])
            require(step >= 0, "steps must not be negative")
            return self.decode(arrays, decode_rng(arrays["rng"]), step)

        return checkpoint.load({"rng": "U0", "step": "i0", **self.kinds}, decode)


def teleport_distribution(starts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`p(G) ∝ exp(−t(G))` over the inputs (COMRECGC, equation 3)."""
    weights = np.exp(-(starts - starts.min()).astype(np.float64))
    return np.asarray(weights / weights.sum())


def draw(weights: npt.NDArray[np.floating], rng: np.random.Generator) -> int:
    """An index drawn in proportion to the weights, from one uniform number."""
    cumulative = np.cumsum(weights, dtype=np.float64)
    return min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), len(cumulative) - 1)


class FrequencyTable:
    """Graphs by number of visits, most visited first, as GCFExplainer and the published COMRECGC keep them.

    A graph enters with frequency 2; later visits count only if it is accepted. An entry that rises changes places with the first lower
    one. A full table drops its last entry for a new graph, which starts one above that entry.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.keys: list[int] = []
        self.place: dict[int, int] = {}
        self._falling = np.zeros(_FIRST_ROOM, dtype=np.int64)  # minus the frequency of each place, never falling

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: int) -> bool:
        return key in self.place

    @property
    def is_full(self) -> bool:
        """Whether a new graph replaces another."""
        return len(self.keys) >= self.capacity

    @property
    def frequencies(self) -> npt.NDArray[np.int64]:
        """Frequency of each place, `[n]`."""
        return -self._falling[: len(self.keys)]

    @property
    def unseen(self) -> int:
        """The frequency of a graph that is not in the table: 1, or the table's least once it is full."""
        return -int(self._falling[len(self.keys) - 1]) if self.is_full and self.keys else 1

    def frequency(self, keys: Iterable[int]) -> Iterator[int]:
        """Frequency of each graph, seen or not."""
        place, falling, unseen = self.place, self._falling, self.unseen
        return (unseen if (at := place.get(key)) is None else -int(falling[at]) for key in keys)

    def visit(self, key: int, *, accepted: bool, beyond: bool = False) -> int | None:
        """Count a visit, and return the graph dropped for it, if any. With `beyond` a new graph can enlarge a full table."""
        at, dropped = self.place.get(key), None
        if at is not None:
            if accepted:
                self._set(at, -int(self._falling[at]) + 1)
            return None
        frequency = FIRST_FREQUENCY
        if self.is_full and not beyond:
            frequency = self.unseen + 1
            dropped = self.keys.pop()
            del self.place[dropped]
        at = len(self.keys)
        if at == len(self._falling):
            self._falling = np.concatenate([self._falling, np.zeros_like(self._falling)])
        self.keys.append(key)
        self.place[key] = at
        self._falling[at] = -FIRST_FREQUENCY
        self._set(at, frequency)
        return dropped

    def _set(self, at: int, frequency: int) -> None:
        """Give an entry its frequency and let it change places with the first lower one."""
        to = int(np.searchsorted(self._falling[: len(self.keys)], -frequency, side="right"))
        if to < at:
            key, other = self.keys[at], self.keys[to]
            self.keys[at], self.keys[to] = other, key
            self.place[key], self.place[other] = to, at
            self._falling[at] = self._falling[to]
            at = to
        self._falling[at] = -frequency

    def encode(self) -> Arrays:
        """The table as arrays."""
        return {"keys": np.array(self.keys, dtype=np.uint64), "frequencies": self.frequencies}

    @classmethod
    def decode(cls, arrays: Arrays, capacity: int) -> FrequencyTable:
        """The inverse of `encode`."""
        frequencies = arrays["frequencies"].astype(np.int64)
        require(frequencies.shape == arrays["keys"].shape, "every graph must have a frequency")
        require((np.diff(frequencies) <= 0).all(), "the most visited graphs must come first")
        table = cls(capacity)
        table.keys = arrays["keys"].tolist()
        table.place = {key: at for at, key in enumerate(table.keys)}
        require(len(table.place) == len(table.keys), "every graph must be there once")
        room = np.zeros(max(_FIRST_ROOM, len(frequencies)), dtype=np.int64)
        table._falling = np.concatenate([-frequencies, room])
        return table


@dataclass(eq=False, kw_only=True)
class CountingState(WalkState):
    """A walk that counts visits in a table."""

    table: FrequencyTable  # visits
