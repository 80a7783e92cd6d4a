"""The weights of the package's own models, laid out for the compiled scoring of edited graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch.nn import BatchNorm1d, Module

from comrecgc import kernels
from comrecgc.classifiers import GraphClassifier
from comrecgc.embedding import Greed

if TYPE_CHECKING:
    from comrecgc.kernels.classifier import ClassifierWeights
    from comrecgc.kernels.greed import GreedWeights

_Matrix = npt.NDArray[np.float64]

_ARCHITECTURES = ("gcn", "gat", "sage", "gin")  # in the order of the kernels' numbers


def classifier_weights(model: GraphClassifier | None) -> ClassifierWeights:
    """The weights of a classifier as they are now; without one, empty tables that stand for a model not asked."""
    rows, kernel = kernels.rows, kernels.classifier
    if model is None:
        table, tables, row = _empty()
        scores = np.zeros((1, 1, 2), np.float32)
        return kernel.ClassifierWeights(
            *(0, 0, table, table, scores[0], row, table, tables, table, tables, tables, scores, np.zeros(1), 0.0)
        )
    kind = _ARCHITECTURES.index(model.architecture)
    weights = _arrays(model)
    norms = [norm for norm in model.bns if isinstance(norm, BatchNorm1d)]
    layers = [
        _layer(kind, _under(f"convs.{i}.", weights), _under(f"bns.{i}.", weights), norm.eps)
        for i, norm in enumerate(norms)
    ]
    features, width = model.features.cpu().double().numpy(), rows.padded_width(model.hidden)
    first, later = layers[0], layers[1:]
    none = [np.zeros((0, width, width), np.float32)]
    weight, bias = weights["fc.weight"], weights["fc.bias"]
    return kernel.ClassifierWeights(
        kind=kind,
        lag=int(kind == kernel.GCN),
        inputs=rows.padded(features @ first["sent"], both=False),
        input_own=rows.padded(features @ first["own"], both=False),
        input_scores=(features @ first["scores"]).astype(np.float32),
        own_weight=np.array([layer["own_weight"] for layer in layers], np.float32),
        bias=np.stack([rows.padded_row(layer["bias"]) for layer in layers]),
        inner=np.stack([rows.padded(layer["inner"]) for layer in layers]),
        inner_bias=np.stack([rows.padded_row(layer["inner_bias"]) for layer in layers]),
        sent=np.concatenate([*none, *(rows.padded(layer["sent"])[None] for layer in later)]),
        own=np.concatenate([*none, *(rows.padded(layer["own"])[None] for layer in later)]),
        scores=np.stack([layer["scores"] for layer in later] or [np.zeros((model.hidden, 2))]).astype(np.float32),
        margin=weight[1] - weight[0],
        margin_bias=float(bias[1] - bias[0]),
    )


def _layer(kind: int, conv: Mapping[str, _Matrix], norm: Mapping[str, _Matrix], eps: float) -> dict[str, Any]:
    """A convolution with its batch norm folded in, by the names of `ClassifierWeights`; what it does not have is zero."""
    kernel = kernels.classifier
    scale = norm["weight"] / np.sqrt(norm["running_var"] + eps)  # [hidden]
    shift = norm["bias"] - scale * norm["running_mean"]
    inner, inner_bias, own_weight = np.zeros((len(scale), len(scale))), np.zeros(len(scale)), 1.0
    if kind == kernel.GIN:
        sent, bias, own_weight = conv["nn.0.weight"].T, conv["nn.0.bias"], 1 + float(conv["eps"][0])
        inner, inner_bias = conv["nn.2.weight"].T * scale, conv["nn.2.bias"] * scale + shift
    else:
        weight, last = ("lin_l.weight", "lin_l.bias") if kind == kernel.SAGE else ("lin.weight", "bias")
        sent, bias = conv[weight].T * scale, conv[last] * scale + shift
    own, scores = np.zeros_like(sent), np.zeros((len(sent), 2))
    if kind == kernel.SAGE:
        own = conv["lin_r.weight"].T * scale
    if kind == kernel.GAT:
        scores = conv["lin.weight"].T @ np.stack([conv["att_src"][0, 0], conv["att_dst"][0, 0]], axis=1)
    return {
        "sent": sent, "bias": bias, "own": own, "own_weight": own_weight,
        "inner": inner, "inner_bias": inner_bias, "scores": scores,
    }  # fmt: skip


def greed_weights(model: Greed | None) -> GreedWeights:
    """The weights of a GREED network as they are now; without one, empty tables that stand for a model not asked."""
    rows, kernel = kernels.rows, kernels.greed
    if model is None:
        table, tables, row = _empty()
        return kernel.GreedWeights(table, table, tables, table, tables, table, row, table, tables, row, table, row)
    weights, layers = _arrays(model), range(model.num_layers)
    states = weights["pre.weight"].T + weights["pre.bias"]  # [num_labels, width]
    maps = [np.stack([rows.padded(weights[f"convs.{i}.nn.{at}.weight"].T) for i in layers]) for at in (0, 2)]
    biases = [np.stack([rows.padded_row(weights[f"convs.{i}.nn.{at}.bias"]) for i in layers]) for at in (0, 2)]
    blocks = weights["post.0.weight"].T.reshape(model.num_layers + 1, model.width, -1)
    return kernel.GreedWeights(
        inputs=rows.padded(states, both=False),
        messages=rows.padded(states @ weights["convs.0.nn.0.weight"].T, both=False),
        first=maps[0],
        first_bias=biases[0],
        second=maps[1],
        second_bias=biases[1],
        own=np.array([1 + weights[f"convs.{i}.eps"][0] for i in layers], dtype=np.float32),
        label_hidden=rows.padded(states @ blocks[0], both=False),
        hidden=np.stack([rows.padded(block) for block in blocks[1:]]),
        hidden_bias=rows.padded_row(weights["post.0.bias"]),
        output=rows.padded(weights["post.2.weight"].T),
        output_bias=rows.padded_row(weights["post.2.bias"]),
    )


def _empty() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    return np.zeros((0, 8), np.float32), np.zeros((0, 8, 8), np.float32), np.zeros(8, np.float32)


def _arrays(model: Module) -> dict[str, _Matrix]:
    return {name: tensor.cpu().double().numpy() for name, tensor in model.state_dict().items()}


def _under(prefix: str, weights: Mapping[str, _Matrix]) -> dict[str, _Matrix]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
