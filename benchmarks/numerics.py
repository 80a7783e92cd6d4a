"""Do the claims of a run hang on rounding? Every one of them again in double precision, by a forward pass of its own.

    python benchmarks/numerics.py RUN [RUN …]          # run folders that `comrecgc explain` wrote

For every counterfactual shown in `explanation.json`, and every one behind `also_covers` and trivial coverage, the embeddings
and the probability are computed in single precision, as the run did, and in double precision with plain sums over edges. The
table counts claims that hold in each, claims that hold in one only, and claims within 1e-5 of θ or Δ, where another machine's
rounding might decide. Search and claims leave more room than that (`algorithms/base.py`), so that none of them does.
"""

from __future__ import annotations

import argparse
import copy
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from comrecgc.algorithms.base import VectorTask
from comrecgc.evidence import WITNESSES, run_models
from comrecgc.evidence.evaluation import load_witnesses
from comrecgc.explanation import Explanation, stored_task
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import GraphClassifier, Greed
from comrecgc.run import reproducible

NEAR = 1e-5
Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Claims:
    """That counterfactuals are accepted, within θ of their inputs and within Δ of their recourses.

    Args:
        inputs: Input of each, `[n]`.
        graphs: The counterfactuals.
        centres: Recourse of each, `[n, d]`.
    """

    inputs: list[Graph]
    graphs: list[Graph]
    centres: Array


@dataclass(frozen=True, eq=False)
class Measured:
    """Claims in one precision: probability of accept, `d(G, H)`, distance from the recourse; `[n]` each."""

    probability: Array
    length: Array
    gap: Array

    def holds(self, limits: VectorTask) -> npt.NDArray[np.bool_]:
        fine: npt.NDArray[np.bool_] = (
            (self.probability > 0.5) & (self.length <= limits.theta) & (self.gap <= limits.delta)
        )
        return fine


def main() -> None:
    parser = argparse.ArgumentParser(description="Claims of a run in single and double precision")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--classifier", type=Path, help="where the manifest's is gone")
    parser.add_argument("--embedder", type=Path, help="where the manifest's is gone")
    arguments = parser.parse_args()
    header = f"{'run':24} {'claims':12} {'number':>7} {'float32':>8} {'float64':>8} {'one only':>8}"
    print(f"{header} {'near θ':>6} {'near Δ':>6} {'largest error of d, gap, p':>28} {'least margin':>12}")
    changed = 0
    for run in arguments.runs:
        explanation = Explanation.load(run)
        models = run_models(run, explanation, classifier=arguments.classifier, embedder=arguments.embedder)
        assert isinstance(models.classifier, GraphClassifier)
        assert isinstance(models.embedder, Greed)
        with reproducible():
            for what, claims in (("shown", shown(explanation)), ("witnessed", witnessed(explanation, run))):
                changed += print_claims(run.name, what, claims, models.classifier, models.embedder, explanation)
    sys.exit(1 if changed else 0)


def shown(explanation: Explanation) -> Claims:
    """The counterfactuals in `explanation.json`."""
    rows = [(recourse, member) for recourse in explanation.recourses for member in recourse.covered]
    return Claims(
        [explanation.inputs[member.input].graph for _, member in rows],
        [member.counterfactual for _, member in rows],
        np.array([recourse.vector for recourse, _ in rows], dtype=np.float64),
    )


def witnessed(explanation: Explanation, run: Path) -> Claims:
    """The counterfactuals behind `also_covers` and trivial coverage."""
    if not (run / WITNESSES).exists() or not explanation.recourses:
        return Claims([], [], np.zeros((0, 1)))
    witnesses = load_witnesses(run / WITNESSES)
    graphs = list(witnesses.graphs)
    centres = np.array(
        [*(it.vector for it in explanation.recourses), np.zeros(len(explanation.recourses[0].vector or ()))]
    )
    recourses, inputs, places = witnesses.claims.T.tolist()
    return Claims(
        [explanation.inputs[i].graph for i in inputs], [graphs[place] for place in places], centres[recourses]
    )


def print_claims(
    run: str, what: str, claims: Claims, classifier: GraphClassifier, embedder: Greed, explanation: Explanation
) -> int:
    """One row of the table; how many claims hold in one precision only."""
    if not claims.graphs:
        print(f"{run:24.24} {what:12} {0:7}")
        return 0
    limits = stored_task(explanation)
    assert isinstance(limits, VectorTask)
    double = copy.deepcopy(classifier).double()
    graphs, inputs = GraphBatch.from_graphs(claims.graphs), GraphBatch.from_graphs(claims.inputs)
    single = measured(
        classifier.accept_probability(graphs), embedder.embed(inputs), embedder.embed(graphs), claims, rounded=True
    )
    exact = measured(
        double.accept_probability(graphs),
        embedding(embedder, inputs),
        embedding(embedder, graphs),
        claims,
        rounded=False,
    )
    held, holds = single.holds(limits), exact.holds(limits)
    errors = [np.abs(getattr(single, name) - getattr(exact, name)).max() for name in ("length", "gap", "probability")]
    margin = min((limits.theta - exact.length).min(), (limits.delta - exact.gap).min())
    print(
        f"{run:24.24} {what:12} {len(held):7} {held.sum():8} {holds.sum():8} {(held != holds).sum():8} "
        f"{(np.abs(exact.length - limits.theta) <= NEAR).sum():6} {(np.abs(exact.gap - limits.delta) <= NEAR).sum():6} "
        f"{', '.join(f'{error:.1e}' for error in errors):>28} {margin:12.1e}",
        flush=True,
    )
    return int((held != holds).sum())


def measured(probability: Numbers, origin: Numbers, end: Numbers, claims: Claims, *, rounded: bool) -> Measured:
    """What embeddings say of claims; a run keeps recourse vectors in single precision."""
    sizes = np.array([g.size + h.size for g, h in zip(claims.inputs, claims.graphs, strict=True)], dtype=np.float64)
    steps = (end.astype(np.float64) - origin) / sizes[:, None]
    vectors = steps.astype(np.float32).astype(np.float64) if rounded else steps
    return Measured(
        np.asarray(probability, dtype=np.float64),
        np.linalg.norm(steps, axis=1),
        np.linalg.norm(vectors - claims.centres, axis=1),
    )


def embedding(model: Greed, batch: GraphBatch) -> Array:
    """GREED in double precision from its weights alone: linear layers, and sums over edges one after the other."""
    weights = {name: tensor.detach().cpu().double() for name, tensor in model.state_dict().items()}
    rows = [_embedding(weights, model.num_layers, part) for part in batch.chunks(50_000)]
    return np.concatenate(rows)


def _embedding(weights: dict[str, Tensor], num_layers: int, batch: GraphBatch) -> Array:
    def linear(name: str, x: Tensor) -> Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    edges = torch.from_numpy(np.concatenate([batch.edges, batch.edges[:, ::-1]]).astype(np.int64))  # [2M, 2]
    graph = torch.from_numpy(batch.graph_of_node().astype(np.int64))
    x = weights["pre.weight"].T[torch.from_numpy(batch.labels.astype(np.int64))] + weights["pre.bias"]  # [N, width]

    def pooled(x: Tensor) -> Tensor:
        return torch.zeros(len(batch), x.shape[1], dtype=torch.float64).index_add_(0, graph, x)

    residual, sums = x, [pooled(x)]
    for layer in range(num_layers):
        around = torch.zeros_like(x).index_add_(0, edges[:, 0], x[edges[:, 1]])
        inner = (1 + weights[f"convs.{layer}.eps"]) * x + around
        x = linear(f"convs.{layer}.nn.2", linear(f"convs.{layer}.nn.0", inner).relu())
        if layer % 2 == 1:
            x = residual = x + residual
        x = x.relu()
        sums.append(pooled(x))
    result = torch.cat(sums, dim=1)
    last = max(int(name.split(".")[1]) for name in weights if name.startswith("post."))
    for place in range(0, last + 1, 2):
        result = linear(f"post.{place}", result)
        if place < last:
            result = result.relu()
    return result.numpy()


if __name__ == "__main__":
    main()
