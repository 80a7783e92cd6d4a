"""Small instances and brute-force answers the tests share."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from comrecgc.cover import RecoursePairs, pairs_within

WORKED_EXAMPLE = np.array(
    # Appendix B: f1(G1)=H1, f2(G1)=H2, f3(G2)=H3, f1(G3)=H4, f3(G3)=H1
    [(1, 1, 1), (1, 2, 2), (2, 3, 3), (3, 1, 4), (3, 3, 1)],
    dtype=np.int64,
)

NOT_PSEUDO_MODULAR = np.array(
    # Proof of Theorem 2: every graph covers another input; graphs 1 and 2 have a recourse each, 3 and 4 share one
    [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 3, 4)],
    dtype=np.int64,
)


def random_pairs(seed: int, *, num_inputs: int = 12, num_candidates: int = 40, width: int = 5) -> RecoursePairs:
    """Pairs of random embeddings around two shared directions."""
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(num_inputs, width)).astype(np.float32)
    starts = rng.integers(num_inputs, size=num_candidates)
    directions = rng.normal(size=(2, width))[rng.integers(2, size=num_candidates)]
    ends = (origins[starts] + directions + 0.1 * rng.normal(size=(num_candidates, width))).astype(np.float32)
    sizes = rng.integers(5, 9, size=num_inputs), rng.integers(5, 9, size=num_candidates)
    return pairs_within(origins, sizes[0], ends, sizes[1], 0.3)


def random_triples(
    seed: int, *, num_inputs: int = 5, num_recourses: int = 4, num_graphs: int = 5
) -> npt.NDArray[np.int64]:
    """A random FC instance."""
    rng = np.random.default_rng(seed)
    sizes = (num_inputs, num_recourses, num_graphs)
    return np.unique(np.stack([rng.integers(size, size=9) for size in sizes], axis=1), axis=0)


def brute_coverage(triples: npt.NDArray[np.int64], graphs: set[int], num_recourses: int) -> int:
    """`g` by trying every set of recourses."""
    recourses = sorted(set(triples[:, 1].tolist()))
    chosen = itertools.combinations(recourses, min(num_recourses, len(recourses)))
    return max(len({i for i, r, h in triples.tolist() if r in some and h in graphs}) for some in map(set, chosen))


Vectors = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


def random_vectors(seed: int, *, num_inputs: int = 40, width: int = 6) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """One to five vectors per input, around a few shared points, at the scale of Δ = 1; and the input of each."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(num_inputs), rng.integers(1, 6, size=num_inputs))
    middles = 2.5 * rng.normal(size=(6, width))
    vectors = middles[rng.integers(6, size=len(owners))] + 0.6 * rng.normal(size=(len(owners), width))
    return vectors.astype(np.float32), owners


def flags_within(
    centres: Vectors, vectors: Vectors, owners: npt.NDArray[np.int64], num_inputs: int, radius: float
) -> Flags:
    """Which inputs have a vector within the radius of each centre, one centre after the other, in double precision."""
    flags = np.zeros((len(centres), num_inputs), dtype=np.bool_)
    for row, centre in enumerate(centres.astype(np.float64)):
        near = np.linalg.norm(vectors.astype(np.float64) - centre, axis=1) <= radius
        flags[row, owners[near]] = True
    return flags
