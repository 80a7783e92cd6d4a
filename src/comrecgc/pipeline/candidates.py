"""Where counterfactuals come from: the directed search, or the paper's walk. Both end as pairs within θ."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comrecgc.embedding.ged import edit_path, ged_interval
from comrecgc.graphs import EditPath, Graph, GraphBatch, apply_path, simplify_path
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.margins import CHOSEN, inside
from comrecgc.pipeline.settings import Settings
from comrecgc.recourse import RecoursePairs, pairs_within
from comrecgc.recourse.ball import BallCover
from comrecgc.recourse.pairs import FloatArray
from comrecgc.search import DirectedSearch, SearchProgress, SearchState
from comrecgc.walk import Candidate, MultiHeadWalk, ShardedWalk

Progress = Callable[[str, int, int, str], None]
"""Called with what is being done, how much is done, how much there is, and a word on how it goes."""

_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH, _LOOKED_AT = (
    0.9,
    200,
)  # share of the inputs that one edit turns into accepted ones, and of how many it is taken
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2
_CHECKPOINT_SECONDS = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidates:
    """Counterfactual candidates and the pairs they form with the inputs.

    Args:
        pairs: The pairs within θ.
        graph: The graph of a candidate.
        path: Edits, not longer than need be, from an input to a candidate it is paired with.
        centres: Recourses the search ended with; None where it chose none.
        curve: Coverage as the search went on; empty where it was not counted.
        complete: Whether the search ended of itself; False if time was up.
    """

    pairs: RecoursePairs
    graph: Callable[[int], Graph]
    path: Callable[[int, int], EditPath]
    centres: FloatArray | None = None
    curve: tuple[float, ...] = ()
    complete: bool = True


def find_candidates(
    settings: Settings,
    scorer: NeighbourhoodScorer,
    inputs: Sequence[Graph],
    *,
    deadline: float | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Candidates:
    """Look for counterfactuals of the inputs as the preset says.

    Args:
        settings: Complete settings.
        scorer: Scores neighbourhoods.
        inputs: The rejected graphs, with fresh ids.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called as the search goes on.
        checkpoint: Folder that keeps an unfinished search; None keeps none.
        resume: Go on from what the folder holds.
    """
    if settings.preset == "paper":
        return _walked(settings, scorer, inputs, deadline, progress, checkpoint, resume)
    state = directed_search(settings).run(
        scorer,
        inputs,
        seed=settings.seed,
        deadline=deadline,
        progress=reporter(progress),
        checkpoint=None if checkpoint is None else checkpoint / "search.npz",
        resume=resume,
        checkpoint_seconds=_CHECKPOINT_SECONDS,
    )
    return searched_candidates(state, inputs)


def directed_search(settings: Settings, cover: BallCover | None = None) -> DirectedSearch:
    """The search of the default preset.

    Args:
        settings: Complete settings.
        cover: How centres are chosen; by default by ball cover with the settings' limits.
    """
    cover = cover or ball_cover(settings)
    return DirectedSearch(theta=inside(settings.theta, CHOSEN), cover=cover)


def ball_cover(settings: Settings) -> BallCover:
    """The ball cover of complete settings."""
    return BallCover(
        delta=inside(settings.radius, CHOSEN),
        num_recourses=settings.num_recourses,
        directional=bool(settings.directional),
    )


def searched_candidates(state: SearchState, inputs: Sequence[Graph]) -> Candidates:
    """What a directed search found: every input is paired with its own candidates only."""
    pairs = state.pairs()
    owners = pairs.inputs  # candidate j belongs to pair j

    def path(index: int, candidate: int) -> EditPath:
        return shorter_path(inputs[index], state.path(candidate))

    return Candidates(
        pairs=pairs,
        graph=lambda candidate: apply_path(inputs[owners[candidate]], state.path(candidate)),
        path=path,
        centres=state.centres,
        curve=tuple(state.curve),
        complete=state.complete,
    )


def reporter(progress: Progress | None) -> Callable[[SearchProgress], None] | None:
    """Tells the progress of a search as that of a stage."""
    if progress is None:
        return None

    def report(done: SearchProgress) -> None:
        name = "sweep" if done.round == 0 else f"round {done.round}"
        word = f"{done.num_found} counterfactuals"
        progress(name, done.done, done.total, word if done.round == 0 else f"{done.coverage:.1%} covered, {word}")

    return report


def shorter_path(graph: Graph, path: EditPath) -> EditPath:
    """The path without detours, if that changes no bond: a bond cut and made again is a single one, and that counts."""
    shorter = simplify_path(graph, path) if len(path) > 1 else path
    if graph.edge_labels is None or shorter == path:
        return shorter
    return shorter if _bonds(apply_path(graph, shorter)) == _bonds(apply_path(graph, path)) else path


def _walked(
    settings: Settings,
    scorer: NeighbourhoodScorer,
    inputs: Sequence[Graph],
    deadline: float | None,
    progress: Progress | None,
    checkpoint: Path | None,
    resume: bool,
) -> Candidates:
    """The paper's walk; every input is paired with every candidate within θ, whoever it was reached from."""
    found: list[Candidate] = []
    if inputs:
        walk = MultiHeadWalk(
            num_heads=min(settings.num_heads, len(inputs)),
            num_steps=settings.num_steps,
            teleport=settings.teleport,
            capacity=_MAX_CANDIDATES,
            max_distance=_WALK_REACH * settings.theta,
            max_cost=max_walk_cost(scorer, inputs, settings.seed),
        )
        shards = min(_NUM_SHARDS, settings.num_steps)
        sharded = ShardedWalk(walk=walk, num_shards=shards, seed=settings.seed, checkpoint=checkpoint)
        found = list(
            sharded.run(scorer, inputs, jobs=settings.num_jobs, resume=resume, deadline=deadline, bar=progress)
        )
    assert scorer.embedder is not None
    origins = scorer.embedder.embed(GraphBatch.from_graphs(inputs))
    ends = scorer.embedder.embed(GraphBatch.from_graphs(candidate.graph for candidate in found))
    sizes = [candidate.graph.size for candidate in found]
    pairs = pairs_within(origins, [graph.size for graph in inputs], ends, sizes, settings.theta)

    def path(index: int, candidate: int) -> EditPath:
        reached = found[candidate]
        if reached.start == index:
            return shorter_path(inputs[index], reached.path)
        return mapped_path(inputs[index], reached.graph.fresh())

    return Candidates(
        pairs=pairs,
        graph=lambda candidate: found[candidate].graph,
        path=path,
        complete=deadline is None or time.monotonic() < deadline,
    )


def max_walk_cost(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> int | None:
    """How many elements of their inputs heads may change at once: two where one edit flips nearly every input.

    The recourses of few edits are those that inputs share. Where one edit is not enough, any number may be changed.
    """
    rng = np.random.default_rng(seed)
    some = [inputs[i] for i in rng.permutation(len(inputs))[:_LOOKED_AT]]
    around = scorer.score(some, embedding=False, sample=MultiHeadWalk.sample, rng=rng)
    flips = [hood.probability is not None and bool((hood.probability > 0.5).any()) for hood in around]
    return _WALK_COST if np.mean(flips) >= _ENOUGH else None


def mapped_path(source: Graph, target: Graph) -> EditPath:
    """Edits between two graphs neither of which was made from the other: those of the best mapping found."""
    return edit_path(source, target, ged_interval(source, target, effort="fast").mapping)


def _bonds(graph: Graph) -> list[tuple[int, int, int]]:
    """Labels of both ends and of the edge, for every edge, in an order of their own."""
    assert graph.edge_labels is not None
    ends = np.sort(graph.labels[graph.edges], axis=1)
    rows = np.concatenate([ends, graph.edge_labels[:, None]], axis=1).tolist()
    return sorted((first, second, bond) for first, second, bond in rows)
