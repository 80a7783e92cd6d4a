"""Mining: every change of every input within θ and on its rung, each scored once.

A change is four numbers (`scoring.change_kernels`); a row holds several changes made together. Threads work on blocks of inputs; the result does not
depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules import composition_kernels, enumeration_kernels
from comrecgc.algorithms.rules.permission import MolecularPermission
from comrecgc.algorithms.rules.vocabulary import Vocabulary, arrays_of, merged_nodes, room_for
from comrecgc.graphs import BoolArray, Graph, GraphBatch, IntArray, KeyArray, LongArray, NeighbourIndex
from comrecgc.models import AdaptedClassifier, Classifier, GoalClassifier, Jury, log_odds
from comrecgc.run import UNLIMITED, RunContext
from comrecgc.scoring import change_kernels, compiled_network, incremental_kernels

FloatArray = npt.NDArray[np.float64]
ACCEPTED = 4e-5
"""Log-odds beyond which a result counts as accepted: p > 0.50001, so that rounding cannot undo it."""
NOT_ASKED = -1
"""Placeholder for votes of a panel, or the estimate of a jury, that was not asked."""
NEVER = 100
"""Votes needed where no member of the panel rejects the input: none of them can confirm a change of it."""

_TOO_MANY = 5_000_000  # changes from which on those that lower the log-odds are not kept: there is no room for all
_BLOCK = 32  # inputs a thread takes at once
_JUDGED = 20_000  # changed graphs the jury is shown at once
_BUILT_NODES = 8_000  # nodes of changed graphs that are built at once


def is_first(*sorted_keys: npt.NDArray[Any]) -> BoolArray:
    """Which rows are the first with their keys, `[V]`; rows with equal keys are adjacent."""
    new = np.ones(len(sorted_keys[0]), bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    return new


def ranks_of_alike(*sorted_keys: npt.NDArray[Any]) -> LongArray:
    """Rank of each row among the rows with equal keys, `[V]`."""
    new, rows = is_first(*sorted_keys), np.arange(len(sorted_keys[0]))
    return np.asarray(rows - np.maximum.accumulate(np.where(new, rows, 0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """A table kept as one array per column, all with the same rows."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: LongArray) -> Self:
        """Some of the rows."""
        return type(self)(**{it.name: getattr(self, it.name)[rows] for it in fields(self)})

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, part after part."""
        return cls(**{it.name: np.concatenate([getattr(part, it.name) for part in parts]) for it in fields(cls)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes:
    """Changes of inputs, one per row."""

    input: IntArray  # place among the inputs, `[V]`, not decreasing
    change: IntArray  # the change, `[V, k, 4]`
    cost: IntArray  # elements that it changes, `[V]`
    grown: IntArray  # how much it adds to the size of the graph, `[V]`
    rule: KeyArray  # keys of its rule at radius 0 and 1, `[V, 2]`
    found: KeyArray  # keys of what it finds, `[V, 2]`
    margin: FloatArray  # log-odds of accept afterwards, `[V]`
    goal: FloatArray  # log-odds of what counts: `margin`, or the least of it and of what most of the panel say, `[V]`
    # Changes of each kind that were made of each input, `[kinds, N]`, those among them that are not kept here
    num_tried: LongArray
    num_untried: int = 0  # changes that were not made, since the model can be asked about so many only

    def __len__(self) -> int:
        return len(self.input)

    @cached_property
    def accepted(self) -> BoolArray:
        """Which changes count as accepted, `[V]`."""
        return np.asarray(self.goal > ACCEPTED)

    def of_inputs(self, places: LongArray) -> Changes:
        """The changes of some inputs, given by increasing positions."""
        rows = np.flatnonzero(np.isin(self.input, places))
        names = ("change", "cost", "grown", "rule", "found", "margin", "goal")
        return Changes(
            input=np.searchsorted(places, self.input[rows]).astype(np.int32),
            **{name: getattr(self, name)[rows] for name in names},
            num_tried=self.num_tried[:, places],
            num_untried=self.num_untried,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeScorer:
    """Enumerates, carries out and scores changes of some inputs."""

    inputs: Sequence[Graph]  # the graphs
    vocabulary: Vocabulary  # what changes may speak of
    jobs: int = 1  # threads

    @cached_property
    def _arrays(self) -> list[Any]:
        return [arrays_of(graph) for graph in self.inputs]

    @cached_property
    def holders(self) -> dict[int, npt.NDArray[np.uint8]]:
        """Inputs that match the left-hand side of a change, as packed bits, by its key; only for keys asked about."""
        return {}

    def changes(
        self,
        oracle: Oracle,
        context: RunContext = UNLIMITED,
        *,
        wanted: Any = enumeration_kernels.EVERYTHING,
        base: FloatArray | None = None,
        most_nodes: float = np.inf,
        permit: bool = True,
    ) -> Changes:
        """Score every single change of every input within θ and on the rung, or only those of `wanted` rules.

        If there are very many, only those are kept that raise `base`, the decisive log-odds of every unchanged input, `[N]`. If changed graphs would
        have more than `most_nodes` nodes in all, every exact rule is tried at fewer sites of an input. `permit`: rows that are not permitted are
        excluded already.
        """

        def enumerate_input(i: int, work: Any) -> tuple[Any, ...]:
            found = enumeration_kernels.enumerate_changes(*self._arrays[i], work, *self.vocabulary.compiled, wanted)
            offered = self.vocabulary.offers(found[0], self.inputs[i])
            return tuple(column[offered] for column in found)

        parts = self._map(enumerate_input, context, "trying changes")
        inputs = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part[0]) for part in parts])
        columns = [list(column) for column in zip(*parts, strict=True)] or [[], [], []]
        del parts
        keys = np.concatenate([np.zeros((0, 4), np.uint64), *columns.pop()])  # each column goes as soon as it is joined
        size = np.concatenate([np.zeros((0, 2), np.int32), *columns.pop()])
        change = np.concatenate([np.zeros((0, 4), np.int32), *columns.pop()])[:, None, :]
        some = self.some_places(inputs, keys[:, 1], most_nodes)
        num_untried = 0 if some is None else len(inputs) - len(some)
        if some is not None:
            inputs, change, size, keys = inputs[some], change[some], size[some], keys[some]
        margin, goal, _ = oracle.judge(self, inputs, change, context, permit=permit)
        num_tried = np.zeros((change_kernels.NUM_KINDS, len(self.inputs)), np.int64)
        np.add.at(num_tried, (change[:, 0, 0], inputs), 1)
        if base is not None and len(inputs) > _TOO_MANY:
            kept = goal > base[inputs]
            inputs, change, size, keys = inputs[kept], change[kept], size[kept], keys[kept]
            margin, goal = (margin[kept],) * 2 if goal is margin else (margin[kept], goal[kept])
        return Changes(
            input=inputs,
            change=change,
            cost=size[:, 0],
            grown=size[:, 1],
            rule=keys[:, :2],
            found=keys[:, 2:],
            margin=margin,
            goal=goal,
            num_tried=num_tried,
            num_untried=num_untried,
        )

    def some_places(self, inputs: IntArray, rules: KeyArray | LongArray, most_nodes: float) -> LongArray | None:
        """Rows whose inputs have at most `most_nodes` nodes in all, or None for all rows.

        These are the first few sites of each rule in each input; if even the first ones are too many, those of the rules with the most inputs.
        """
        nodes = np.array([graph.num_nodes for graph in self.inputs])[inputs] if most_nodes < np.inf else np.zeros(1)
        if nodes.sum() <= most_nodes:
            return None
        order = np.lexsort((np.arange(len(inputs)), rules, inputs))
        rank = np.empty(len(order), np.int64)
        rank[order] = ranks_of_alike(inputs[order], rules[order])
        few = int(np.searchsorted(np.cumsum(np.bincount(rank, nodes)), most_nodes, side="right"))
        if few:
            return np.flatnonzero(rank < few)
        firsts = np.flatnonzero(rank == 0)
        _, of, counts = np.unique(rules[firsts], return_inverse=True, return_counts=True)
        firsts = firsts[np.lexsort((firsts, of, -counts[of]))]
        return np.sort(firsts[np.cumsum(nodes[firsts]) <= most_nodes])

    def enumerated(self, input_: int) -> tuple[list[list[int]], KeyArray]:
        """Every single change of an input, and four keys of each: its rule and its left-hand side, at radius 0 and 1."""
        change, _, keys = enumeration_kernels.enumerate_changes(
            *self._arrays[input_], room_for([self.inputs[input_]]), *self.vocabulary.compiled, enumeration_kernels.EVERYTHING
        )  # fmt: skip
        return change.tolist(), keys

    def finds(self, wanted: KeyArray, wider: KeyArray) -> tuple[LongArray, IntArray]:
        """Which inputs match which left-hand sides: pairs of a position in `wanted` and an input.

        `wanted` and `wider` are increasing keys; keys of `wanted` at radius 2 refine those of `wider`, at radius 1.
        """

        def find(i: int, work: Any) -> Any:
            keys = enumeration_kernels.finds(*self._arrays[i], work, *self.vocabulary.compiled[:3], wider)
            return np.flatnonzero(np.isin(wanted, keys))

        parts = self._map(find)
        inputs = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        return np.concatenate([np.zeros(0, np.int64), *parts]), inputs

    def margins(
        self, classifier: Classifier, inputs: IntArray, changes: IntArray, context: RunContext = UNLIMITED
    ) -> FloatArray:
        """Log-odds of accept after each row of changes `[V, k, 4]` of the inputs beside them, `[V]`; NaN where they cannot be made together or leave the rung."""
        aim = classifier if isinstance(classifier, GoalClassifier) else None
        network = compiled_network(classifier if aim is None else aim.model)
        with_ids = isinstance(classifier, AdaptedClassifier) and not classifier.by_label
        rows_of, compiled = self._rows_of(inputs), self.vocabulary.compiled
        margins = np.full(len(inputs), np.nan)
        waiting: list[tuple[IntArray, GraphBatch]] = []  # rows and their changed graphs, of one input or several

        def ask(least: int) -> None:
            """Ask about all that waits, if it has so many nodes."""
            if waiting and sum(len(batch.labels) for _, batch in waiting) >= least:
                asked = np.concatenate([rows for rows, _ in waiting])
                batch = GraphBatch.concatenate([batch for _, batch in waiting])
                margins[asked] = log_odds(classifier.accept_probability(batch))
                waiting.clear()

        def room(work: Any) -> Any:
            return work, None if network is None else incremental_kernels.new_states(work, network)

        def score(i: int, room: Any) -> None:
            rows, (work, states) = rows_of[i], room
            if not len(rows):
                return
            if network is not None:
                margins[rows] = incremental_kernels.score_changes(
                    *self._arrays[i], work, changes[rows], network, states, *compiled
                )
                if aim is not None:
                    margins[rows] = aim.margins(margins[rows], np.array([self.inputs[i].source]))
                return
            fits = rows[incremental_kernels.check_changes(*self._arrays[i], work, changes[rows], *compiled)]
            most = max(1, _BUILT_NODES // (self.inputs[i].num_nodes + 8))
            for first in range(0, len(fits), most):
                part = fits[first : first + most]
                batch, origin = self._built(i, changes[part], work, with_ids=with_ids)
                if aim is not None:
                    batch = replace(batch, ids=origin, source=self.inputs[i].source)
                waiting.append((part, batch))
                ask(_BUILT_NODES // 2)

        self._map(score, context, "scoring changes", room, jobs=1 if network is None else self.jobs)
        ask(0)
        return margins

    def exact_keys(self, inputs: IntArray, changes: IntArray, members: KeyArray) -> KeyArray:
        """Keys of rules that rows of changes `[V, m, 4]`, of rules of these keys at radius 1 `[V, m]`, carry out in the exact surroundings of their anchors, `[V]`."""
        return self._keys(composition_kernels.exact_keys, inputs, changes, members)

    def widened_keys(self, inputs: IntArray, changes: IntArray, keys: KeyArray) -> KeyArray:
        """Keys at radius 2 of rules of single changes `[V, 4]`, or of what they find, by those at radius 1, `[V]`; 0 where too much lies around."""
        return self._keys(enumeration_kernels.widened_keys, inputs, changes, keys)

    def _keys(self, kernel: Any, inputs: IntArray, changes: IntArray, known: KeyArray) -> KeyArray:
        """Keys that a kernel computes from the changes of each input and their known keys, `[V]`."""
        rows_of, keys = self._rows_of(inputs), np.zeros(len(inputs), np.uint64)

        def find(i: int, work: Any) -> None:
            if len(rows := rows_of[i]):
                keys[rows] = kernel(*self._arrays[i], work, changes[rows], known[rows])

        self._map(find)
        return keys

    def _rows_of(self, inputs: IntArray) -> list[LongArray]:
        """Rows of each input, increasing."""
        order = np.argsort(inputs, kind="stable")
        return np.split(order, np.searchsorted(inputs[order], np.arange(1, len(self.inputs))))

    def changed(self, input_: int, changes: IntArray) -> tuple[GraphBatch, IntArray]:
        """The graphs after each row of changes of one input, and the input node that each of their nodes was (-1 for new ones)."""
        return self._built(input_, changes, room_for([self.inputs[input_]]))

    def built(self, inputs: IntArray, changes: IntArray) -> tuple[GraphBatch, list[IntArray]]:
        """The graphs after each row of changes, and the input node that each of their nodes was (-1 for new ones)."""
        work = room_for([self.inputs[i] for i in np.unique(inputs).tolist()])
        made = [self._built(i, row[None], work) for i, row in zip(inputs.tolist(), changes, strict=True)]
        return GraphBatch.concatenate([batch for batch, _ in made]), [origin for _, origin in made]

    def changed_inputs(self, inputs: IntArray, changes: IntArray) -> GraphBatch:
        """The graphs after each row of changes; `inputs` must not decrease."""
        places, starts = np.unique(inputs, return_index=True)
        work = room_for([self.inputs[i] for i in places.tolist()])
        bounds = [*starts.tolist(), len(inputs)]
        parts = [
            self._built(i, changes[first:last], work, with_ids=False)[0]
            for i, first, last in zip(places.tolist(), bounds, bounds[1:], strict=False)
        ]
        return GraphBatch.concatenate(parts)

    def _built(self, i: int, changes: IntArray, work: Any, *, with_ids: bool = True) -> tuple[GraphBatch, IntArray]:
        labels, edges, bonds, node_ptr, edge_ptr, origin = incremental_kernels.build_changed(
            *self._arrays[i], work, changes, *self.vocabulary.compiled_groups
        )
        graph = self.inputs[i]
        batch = GraphBatch(labels, edges, node_ptr, edge_ptr, None if graph.edge_labels is None else bonds)
        if with_ids and graph.source >= 0:
            batch = replace(batch, ids=self._ids(graph, changes, batch, origin), source=graph.source)
        return batch, origin

    def _ids(self, graph: Graph, changes: IntArray, batch: GraphBatch, origin: IntArray) -> IntArray:
        """Ids of the nodes of changed graphs, as the rules of the changes assign them: some nodes stay when one group replaces another."""
        ids = np.where(origin < 0, graph.next_id + np.arange(len(origin)), origin).astype(np.int32)
        swaps = np.flatnonzero((changes[:, :, 0] == change_kernels.SWAP).any(axis=1))
        if len(swaps):
            where = NeighbourIndex(graph)
            for row in swaps.tolist():
                start, stop = batch.node_ptr[row : row + 2].tolist()
                first_new = int((origin[start:stop] >= 0).sum())
                merged = merged_nodes(where, changes[row].tolist(), self.vocabulary.groups, first_new)
                for old, new in merged.items():
                    ids[start + new] = old
        return ids

    def _map(
        self,
        function: Callable[[int, Any], Any],
        context: RunContext = UNLIMITED,
        stage: str = "",
        room: Callable[[Any], Any] = lambda work: work,
        jobs: int | None = None,
    ) -> list[Any]:
        """The results of `function(i, room)` for every input; threads take blocks of inputs, each with its own room to work in."""
        total = len(self.inputs)
        assert self.vocabulary.compiled  # made once, before there are threads
        assert self._arrays is not None
        starts = range(0, total, _BLOCK)

        def run(start: int) -> list[Any]:
            stop = min(start + _BLOCK, total)
            own = room(room_for(self.inputs[start:stop]))
            return [function(i, own) for i in range(start, stop)]

        found: list[Any] = []
        with ThreadPoolExecutor(jobs or self.jobs) as pool:
            for part in pool.map(run, starts):
                found += part
                context.show_progress(stage, len(found), total)
        return found


class Judgement(NamedTuple):
    """The models' answers on rows of changes."""

    margin: FloatArray  # log-odds of accept, `[V]`; NaN where a row does not count
    goal: FloatArray  # log-odds of what counts, `[V]`
    out_of_time: IntArray  # inputs that there was no time for; their rows do not count


@dataclass
class Tally:
    """Number of changed graphs that the explained model scored: the oracle calls of the literature."""

    graphs: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Oracle:
    """The models that decide whether a changed graph is accepted."""

    classifier: Classifier  # the explained model
    panel: tuple[Classifier, ...] = ()  # other models of the same data
    confirm: bool = False  # whether a result counts only if most of the panel accept it too
    needed: int | None = None  # votes of the panel that decide; None for more than half
    permission: MolecularPermission | None = None  # says which accepted results count at all; None for all
    jury: Jury | None = None  # estimates which results come true; None where there is none
    folds: LongArray | None = None  # the part of the jury's data that each input belongs to, `[N]`
    starts: FloatArray | None = None  # number of each input as it is, according to a jury of numbers, `[N]`
    least_truth: int = 0  # percent that the jury must give a result for rdkit to look at it; 0 for all
    tally: Tally = field(default_factory=Tally)  # counts what the explained model is asked
    answers: dict[bytes, int] = field(default_factory=dict)  # what the jury said of changes, by the row of each

    @property
    def sees_graphs(self) -> bool:
        """Whether the explained model needs a forward pass of every changed graph; the package's own networks are recomputed where a change reaches."""
        model = self.classifier.model if isinstance(self.classifier, GoalClassifier) else self.classifier
        return compiled_network(model) is None

    @property
    def majority(self) -> int:
        """Number of votes of the panel that decides."""
        return len(self.panel) // 2 + 1 if self.needed is None else self.needed

    def of_inputs(self, places: LongArray) -> Oracle:
        """The same for some of the inputs."""
        starts = None if self.starts is None else self.starts[places]
        return replace(self, folds=None if self.folds is None else self.folds[places], starts=starts, answers={})

    def log_odds(self, graphs: Sequence[Graph], base: FloatArray) -> FloatArray:
        """The decisive log-odds of unchanged graphs; `base` are those of accept."""
        if not self.confirm:
            return base
        batch = GraphBatch.from_graphs(graphs)
        said = np.sort([log_odds(member.accept_probability(batch)) for member in self.panel], axis=0)
        return np.asarray(np.minimum(base, said[len(self.panel) - self.majority]))

    def judge(
        self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray, context: RunContext = UNLIMITED, *, permit: bool = True
    ) -> Judgement:  # fmt: skip
        """Log-odds of accept, and the decisive log-odds, after each row of changes `[V, k, 4]` of the given inputs, `[V]`.

        With `permit`, rows that are not permitted are excluded already. Molecules are checked one by one until the deadline.
        """
        margin = scorer.margins(self.classifier, inputs, changes, context)
        self.tally.graphs += int(np.isfinite(margin).sum())
        late = np.zeros(0, np.int32)
        if permit and self.permission is not None:
            likely = np.flatnonzero(margin > ACCEPTED)
            permitted, late = self.permits(scorer, inputs[likely], changes[likely], context)
            margin[likely[~permitted]] = np.nan
        if not self.confirm:
            return Judgement(margin, margin, late)
        rows = np.flatnonzero(np.isfinite(margin))
        said = np.sort([scorer.margins(member, inputs[rows], changes[rows]) for member in self.panel], axis=0)
        goal = margin.copy()
        goal[rows] = np.minimum(margin[rows], said[len(self.panel) - self.majority])
        return Judgement(margin, goal, late)

    def permits(
        self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray, context: RunContext = UNLIMITED
    ) -> tuple[BoolArray, IntArray]:
        """As `MolecularPermission.allowed`; results that the jury does not expect to come true do not count and are not checked."""
        assert self.permission is not None
        looked, mask = np.arange(len(inputs)), np.ones(len(inputs), bool)
        if self.least_truth:
            looked = np.flatnonzero(self.truth(scorer, inputs, changes, context) >= self.least_truth)
        mask[looked], late = self.permission.allowed(scorer, inputs[looked], changes[looked], context)
        return mask & ~np.isin(inputs, late), late

    def votes(self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray) -> npt.NDArray[np.int8]:
        """Number of panel members that reject an input and accept its result under a row of changes, `[V]`; `NOT_ASKED` without a panel."""
        if not self.panel:
            return np.full(len(inputs), NOT_ASKED, np.int8)
        heard = self.heard(scorer.inputs)
        said = [
            (scorer.margins(member, inputs, changes) > 0) & rejects[inputs]
            for member, rejects in zip(self.panel, heard, strict=True)
        ]
        return np.asarray(np.sum(said, axis=0), np.int8)

    def heard(self, graphs: Sequence[Graph]) -> BoolArray:
        """Which members reject each input, `[members, N]`: a member that accepts the unchanged input says nothing about the change."""
        batch = GraphBatch.from_graphs(graphs)
        return np.array([member.accept_probability(batch) <= 0.5 for member in self.panel], bool).reshape(
            -1, len(batch)
        )

    def votes_needed(self, graphs: Sequence[Graph]) -> npt.NDArray[np.int8]:
        """Votes that confirm a change of each input: most of the members that reject it, or the number of the option, `[N]`; 0 without a panel."""
        if not self.panel:
            return np.zeros(len(graphs), np.int8)
        heard = self.heard(graphs).sum(axis=0)
        most = heard // 2 + 1 if self.needed is None else np.full(len(graphs), self.needed)
        return np.where(heard > 0, most, NEVER).astype(np.int8)

    def truth(
        self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray, context: RunContext = UNLIMITED
    ) -> npt.NDArray[np.int8]:
        """The jury's probability that each changed graph truly belongs to the class accept, in percent, `[V]`; `NOT_ASKED` without a jury."""
        if self.jury is None or self.folds is None or not len(inputs):
            return np.full(len(inputs), NOT_ASKED, np.int8)
        rows, place = np.unique(np.c_[inputs, changes.reshape(len(inputs), -1)], axis=0, return_inverse=True)
        keys = [row.tobytes().rstrip(b"\xff") for row in rows.astype(np.int32)]  # without changes that are none
        asked = np.array([key not in self.answers for key in keys], bool)
        new = rows[asked]
        bounds = np.searchsorted(new[:, 0], np.arange(len(scorer.inputs) + 1))
        truth, jury, folds = np.zeros(len(new), np.int8), self.jury, self.folds

        def ask(block: tuple[int, int]) -> int:
            part = slice(int(bounds[block[0]]), int(bounds[block[1]]))
            batch = scorer.changed_inputs(new[part, 0], new[part, 1:].reshape(-1, *changes.shape[1:]))
            starts = None if self.starts is None else self.starts[new[part, 0]]
            truth[part] = np.rint(100 * jury.truth(batch, folds[new[part, 0]], starts))
            return part.stop

        with ThreadPoolExecutor(scorer.jobs) as pool:
            for done in pool.map(ask, _blocks(bounds, _JUDGED)):
                context.show_progress("asking the jury", done, len(new))
        self.answers.update(
            zip((key for key, is_new in zip(keys, asked, strict=True) if is_new), truth.tolist(), strict=True)
        )
        return np.array([self.answers[key] for key in keys], np.int8)[place.ravel()]


def _blocks(bounds: LongArray, most: int) -> Iterator[tuple[int, int]]:
    """Runs of consecutive inputs with at most `most` rows each, at least one input."""
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + most, side="right")) - 1)
        yield first, last
        first = last
