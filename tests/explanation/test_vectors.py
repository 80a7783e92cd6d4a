"""Vector recourses: claims are confirmed by a plain forward pass, or dropped.

Also tests comrecgc.explanation.assembly.
"""

from __future__ import annotations

import numpy as np

from comrecgc.algorithms.base import Task, VectorChoice, VectorTask
from comrecgc.algorithms.inputs import ModelPair, Rejects
from comrecgc.algorithms.vectors.candidates import Candidates, Vectors
from comrecgc.cover import RecoursePairs
from comrecgc.data import GraphDataset
from comrecgc.explanation.vectors import first_counterfactuals, verify
from comrecgc.graphs import Edit, EditKind, EditPath, Graph, apply_path
from comrecgc.models import predict
from tests.stubs import AvoidsLabel, Histogram

INPUT = Graph([0, 1, 2], [[0, 1], [1, 2]])
TO_A: EditPath = (Edit(EditKind.RELABEL, 2, 0),)
TO_B: EditPath = (Edit(EditKind.RELABEL, 2, 1),)
STILL_BAD: EditPath = (Edit(EditKind.RELABEL, 0, 1),)
MODELS = ModelPair(AvoidsLabel(2, 3), Histogram(3))
DATASET = GraphDataset(name="one", graphs=(INPUT,), classes=np.array([0], np.int8), label_names=("A", "B", "C"))
REJECTS = Rejects.of(DATASET, predict(MODELS.classifier, DATASET)).embedded(MODELS)


def limits(theta: float, delta: float) -> VectorTask:
    return VectorTask.of(Task(algorithm=Vectors(choice=VectorChoice(delta=delta)), theta=theta))


def candidates_of(*paths: EditPath, embeddings: np.ndarray | None = None) -> Candidates:
    """Candidates of the one input, as a search would offer them; the embeddings it claims may be untrue."""
    graphs = [apply_path(INPUT, path) for path in paths]
    true = MODELS.scores(graphs)
    claimed = true.embedding if embeddings is None else embeddings.astype(np.float32)
    origin = MODELS.scores([INPUT])
    sizes = origin.sizes[0] + true.sizes
    pairs = RecoursePairs(
        input_embeddings=origin.embedding,
        input_sizes=origin.sizes,
        candidate_embeddings=claimed,
        candidate_sizes=true.sizes,
        inputs=np.zeros(len(paths), np.int32),
        candidates=np.arange(len(paths), dtype=np.int32),
        norms=(np.linalg.norm(claimed - origin.embedding, axis=1) / sizes).astype(np.float32),
    )
    return Candidates(pairs=pairs, graph=lambda j: graphs[j], path=lambda _, j: paths[j])


def test_a_true_claim_is_confirmed() -> None:
    candidates = candidates_of(TO_A)
    centre = candidates.pairs.vectors()
    verified = verify(candidates, candidates.pairs, centre, REJECTS, MODELS, limits(0.2, 0.05))
    verified, (entry,) = first_counterfactuals(verified, candidates, REJECTS, MODELS, limits(0.2, 0.05))
    assert entry.member.edits == TO_A
    assert np.isclose(entry.member.distance, np.sqrt(2) / 10)
    assert verified.cover.covers.tolist() == [[True]]
    assert verified.trivial.tolist() == [-1]


def test_a_rejected_graph_is_dropped() -> None:
    candidates = candidates_of(STILL_BAD)
    centre = candidates.pairs.vectors()
    verified = verify(candidates, candidates.pairs, centre, REJECTS, MODELS, limits(0.2, 0.05))
    assert len(verified.cover) == 0
    assert first_counterfactuals(verified, candidates, REJECTS, MODELS, limits(0.2, 0.05))[1] == []


def test_what_is_too_far_or_beside_the_recourse_is_dropped() -> None:
    honest = candidates_of(TO_A)
    centre = honest.pairs.vectors()
    for task in (limits(0.14, 0.05), limits(0.2, 0.05)):
        shift = 0.0 if task.theta < 0.2 else 0.06
        verified = verify(honest, honest.pairs, centre + np.float32(shift), REJECTS, MODELS, task)
        assert len(verified.cover) == 0
    lying = candidates_of(TO_A, embeddings=np.array([[2, 1, 3, 2]]))  # says it lies elsewhere
    verified = verify(lying, lying.pairs, lying.pairs.vectors(), REJECTS, MODELS, limits(0.5, 0.05))
    assert len(verified.cover) == 0


def test_the_boundary_is_not_claimed() -> None:
    candidates = candidates_of(TO_A)
    centre = candidates.pairs.vectors()
    exactly = float(np.sqrt(2) / 10)
    verified = verify(candidates, candidates.pairs, centre, REJECTS, MODELS, limits(exactly, 0.05))
    assert len(verified.cover) == 0  # another machine might round it beyond
    verified = verify(candidates, candidates.pairs, centre, REJECTS, MODELS, limits(exactly * 1.001, 0.05))
    assert len(verified.cover) == 1


def test_an_input_whose_edits_fail_goes_to_the_next_recourse() -> None:
    candidates = candidates_of(TO_A, TO_B)
    centres = candidates.pairs.vectors()
    verified = verify(candidates, candidates.pairs, centres, REJECTS, MODELS, limits(0.2, 0.05), keep_all=True)
    assert verified.cover.first.tolist() == [0]
    broken = Candidates(
        pairs=candidates.pairs, graph=candidates.graph, path=lambda i, j: STILL_BAD if j == 0 else candidates.path(i, j)
    )
    kept, (entry,) = first_counterfactuals(verified, broken, REJECTS, MODELS, limits(0.2, 0.05))
    assert entry.member.edits == TO_B
    assert entry.recourse == 0  # the failed one is gone
    assert np.array_equal(kept.cover.centres, centres[1:])


def test_no_inputs_and_no_recourses() -> None:
    candidates = candidates_of(TO_A)
    none = np.zeros((0, 4), dtype=np.float32)
    verified = verify(candidates, candidates.pairs, none, REJECTS, MODELS, limits(0.2, 0.05))
    assert len(verified.cover) == 0
    assert verified.cover.num_inputs == 1
