"""Held-out error of embedders side by side: how far predicted edit distances are from true ones on graphs never trained on.

    comrecgc train embedder --dataset aids --out aids-greed.safetensors
    python benchmarks/embedder.py --dataset aids --embedder aids-greed.safetensors --released checkpoints/aids/greed.pt

Pairs: chains (1–6 random edits), near neighbours and far pairs among the graphs that the first embedder was not trained
on; distances are the costs of the best mappings found.
Then the decision `d ≤ 0.1` on pairs around that threshold, as many truly below as truly above.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.data import load_dataset
from comrecgc.models import Greed, load_embedder
from comrecgc.models.greed import held_out_errors
from comrecgc.models.greed_pairs import KINDS, LabelledGroups, PairGenerator
from comrecgc.run import LocalEngine

THETA = 0.1


def main() -> None:
    arguments = parse_arguments()
    dataset = load_dataset(arguments.dataset, root=arguments.data_root)
    trained = load_embedder(arguments.embedder)
    embedders = {"ours": trained}
    if arguments.released is not None:
        embedders["released"] = load_embedder(arguments.released)
    used = set(trained.facts["train_graphs"])
    untouched = [graph for index, graph in enumerate(dataset) if index not in used]
    print(f"{dataset.name}: {len(untouched)} graphs not trained on; training took {trained.facts['seconds']:.0f} s")
    groups = PairGenerator(
        num_far=20, num_near=60, num_chains=100, num_paths=0, far_size=10, near_size=5, chain_size=7,
        sweeps=arguments.sweeps, engine=LocalEngine(jobs=2),
    ).generate(untouched, dataset.num_labels, seed=arguments.seed)  # fmt: skip
    print_errors(embedders, groups)
    print_decisions(embedders, groups, np.random.default_rng(arguments.seed))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Held-out error of embedders, side by side")
    parser.add_argument("--dataset", default="planted")
    parser.add_argument("--embedder", type=Path, required=True, help="written by `comrecgc train embedder`")
    parser.add_argument("--released", type=Path, help="a released GREED state dict to compare with")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--sweeps", type=int, default=400, help="effort of the edit distances")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def print_errors(embedders: dict[str, Greed], groups: LabelledGroups) -> None:
    errors = {name: held_out_errors(model, groups) for name, model in embedders.items()}
    print(f"{'pairs':<8}{'number':>8}{'mean':>8}" + "".join(f"{name + ' rmse':>16}{'bias':>8}" for name in errors))
    for kind in KINDS:
        if kind not in errors["ours"]:
            continue
        facts = errors["ours"][kind]
        row = f"{kind:<8}{facts['pairs']:>8}{facts['mean_distance']:>8.1f}"
        print(row + "".join(f"{of[kind]['rmse']:>16.2f}{of[kind]['bias']:>8.2f}" for of in errors.values()))


def print_decisions(embedders: dict[str, Greed], groups: LabelledGroups, rng: np.random.Generator) -> None:
    """Agreement of `d ≤ θ` with the truth on a balanced set of pairs whose true distance is within a factor 2 of θ."""
    elements = groups.graphs.node_counts() + groups.graphs.edge_counts()
    sizes = elements[groups.pairs].sum(axis=1)
    distances = groups.distances / sizes
    below = np.flatnonzero((distances <= THETA) & (distances >= THETA / 2))
    above = np.flatnonzero((distances > THETA) & (distances <= THETA * 2))
    number = min(len(below), len(above))
    chosen = np.concatenate([rng.choice(below, number, replace=False), rng.choice(above, number, replace=False)])
    truth = distances[chosen] <= THETA
    print(f"decision d <= {THETA} on {number} pairs below and {number} above, within a factor 2 of it:")
    for name, model in embedders.items():
        said = predicted(model, groups)[chosen] / sizes[chosen] <= THETA
        print(
            f"  {name:<10} agrees on {np.mean(said == truth):.1%} "
            f"(true counterfactuals kept {said[truth].mean():.1%}, false ones refused {1 - said[~truth].mean():.1%})"
        )


def predicted(model: Greed, groups: LabelledGroups) -> npt.NDArray[np.float32]:
    embeddings = model.embed(groups.graphs)
    result: npt.NDArray[np.float32] = np.linalg.norm(
        embeddings[groups.pairs[:, 0]] - embeddings[groups.pairs[:, 1]], axis=1
    )
    return result


if __name__ == "__main__":
    main()
