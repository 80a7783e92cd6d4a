"""From candidates to common recourses: seconds, pairs, clusters, coverage and peak memory.

    python benchmarks/recourse.py                                                # the planted molecules, untrained models
    python benchmarks/recourse.py --dataset aids --checkpoints DIR --theta 0.15  # a benchmark with the released models
    python benchmarks/recourse.py --dataset aids --checkpoints DIR --compare 35000  # DBSCAN beside scikit-learn's

Candidates are accepted one-edit neighbours of every rejected graph, at most `--per-input` of each, isomorphic ones once, as
in the walk's pool: three copies of one graph would make a cluster.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array
from sklearn.cluster import DBSCAN

import released
from comrecgc.cover import (
    Cover,
    RecourseClustering,
    RecoursePairs,
    greedy_cover,
    nearest_counterfactuals,
    pairs_within,
    with_counterfactuals,
)
from comrecgc.cover.clusters import dbscan
from comrecgc.cover.pairs import coverage, directional_coverage, total_length, trivial_coverage
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.scoring import NeighbourhoodScorer

FloatArray = npt.NDArray[np.float32]


def main() -> None:
    arguments = parse_arguments()
    subject = released.load(arguments)
    theta = released.theta_of(arguments)
    rejects = list(subject.rejects())
    scorer = NeighbourhoodScorer(subject.classifier, subject.embedder, subject.dataset.num_labels)
    with timed("embedding the inputs and their accepted neighbours"):
        origins = subject.embedder.embed(GraphBatch.from_graphs(rejects))
        ends, sizes = one_edit_candidates(scorer, rejects, arguments.per_input, np.random.default_rng(0))
    print(f"{subject.dataset.name}: {len(rejects)} rejects, {len(ends)} candidates, θ={theta}, Δ={arguments.delta}")
    with timed("pairs within θ"):
        pairs = pairs_within(origins, [graph.size for graph in rejects], ends, sizes, theta)
    print(f"  {len(pairs)} pairs; r=0 alone covers {trivial_coverage(pairs, arguments.delta):.1%}")
    if arguments.compare:
        compare(pairs, arguments.delta, arguments.compare)
        return
    clustering = RecourseClustering(
        theta=theta,
        delta=arguments.delta,
        num_recourses=arguments.recourses,
        max_vectors=arguments.max_vectors,
        num_threads=torch.get_num_threads(),
    )
    with timed(f"FCR: DBSCAN of {min(len(pairs), arguments.max_vectors)} vectors, greedy, cover"):
        cover = clustering.run(pairs)
    print_figures(cover, arguments.delta)
    with timed("FC: nearest counterfactuals, DBSCAN, greedy, cover"):
        few = clustering.run(with_counterfactuals(pairs, nearest_counterfactuals(pairs)))
    print_figures(few, arguments.delta)
    sets = csr_array(np.random.default_rng(0).random((100_000, 2560), dtype=np.float32) < 1 / 64)
    with timed("greedy choice of 100 among 100,000 random sets over 2,560"):
        greedy_cover(sets, 100)
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.1f} GB")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="From candidates to common recourses")
    released.add_arguments(parser)
    parser.add_argument("--per-input", type=int, default=45)
    parser.add_argument("--delta", type=float, default=0.02)
    parser.add_argument("--recourses", type=int, default=100)
    parser.add_argument("--max-vectors", type=int, default=1_000_000)
    parser.add_argument("--compare", type=int, default=0, help="only time DBSCAN, on this many vectors")
    return parser.parse_args()


def one_edit_candidates(
    scorer: NeighbourhoodScorer, inputs: Sequence[Graph], per_input: int, rng: np.random.Generator
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Embeddings and sizes of accepted one-edit neighbours, at most `per_input` of each input."""
    embeddings, sizes, keys = [], [], []
    for graph in inputs:
        known = scorer.score([graph], embedding=False)[0]
        assert known.probability is not None
        accepted = np.flatnonzero(known.probability > 0.5)
        chosen = np.sort(rng.permutation(accepted)[:per_input])
        part = scorer.complete([known.select(chosen)], probability=False)[0]
        assert part.embedding is not None
        embeddings.append(part.embedding)
        keys.append(part.keys)
        sizes.append(graph.size + part.table.size_changes())
    first = np.sort(np.unique(np.concatenate(keys), return_index=True)[1])
    return np.concatenate(embeddings)[first], np.concatenate(sizes).astype(np.int64)[first]


def compare(pairs: RecoursePairs, delta: float, num_vectors: int) -> None:
    """Processor seconds of both implementations on a sample of the vectors, and whether they agree."""
    rows = np.sort(np.random.default_rng(0).permutation(len(pairs))[:num_vectors])
    vectors = pairs.vectors(rows)
    dbscan(vectors[:100], delta, 3)  # compiles
    started = time.process_time()
    ours = dbscan(vectors, delta, 3)
    between = time.process_time()
    theirs = DBSCAN(eps=delta, min_samples=3).fit(vectors.astype(np.float64)).labels_
    ended = time.process_time()
    print(f"  DBSCAN of {len(vectors)} vectors: {ours.max() + 1} clusters, {(ours < 0).mean():.0%} noise")
    print(f"  {between - started:.1f} s, scikit-learn {ended - between:.1f} s, equal: {np.array_equal(ours, theirs)}")


def print_figures(cover: Cover, delta: float) -> None:
    curve = np.cumsum(np.append(cover.gains, np.zeros(100, int))[:100]) / max(1, cover.num_inputs)
    print(
        f"  {len(cover)} recourses cover {coverage(cover):.1%} (10: {curve[9]:.1%}), "
        f"directional {directional_coverage(cover, delta):.1%}, total length {total_length(cover):.2f}"
    )


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"  {time.monotonic() - started:6.1f} s  {what}")


if __name__ == "__main__":
    main()
