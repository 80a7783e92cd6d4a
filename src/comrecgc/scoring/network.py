"""The package's own networks as plain weights for `incremental_kernels`: evaluation mode, batch norm folded in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.models import Classifier, Embedder, GraphClassifier, Greed
from comrecgc.scoring.incremental_kernels import GAT, GCN, GIN, SAGE, Network

_KINDS = {"gcn": GCN, "sage": SAGE, "gin": GIN, "gat": GAT}

_Matrix = npt.NDArray[np.float64]


class _Layer(NamedTuple):
    """A convolution; maps go from inputs (rows) to outputs (columns)."""

    send: _Matrix  # what a node sends to its neighbours and itself
    bias: _Matrix  # what its sum starts from
    keep: _Matrix | None = None  # what a node adds to its own sum (SAGE), or its two attention scores (GAT)
    own: float = 1.0  # weight of a node in its own sum (GIN)
    second: _Matrix | None = None  # second map (GIN)
    second_bias: _Matrix | None = None


def compiled_network(model: Classifier | Embedder | None) -> Network | None:
    """The weights of one of the package's own networks; None for models that only a forward pass can score.

    A subclass may compute something else and double precision is more exact, so both are left to a forward pass.
    """
    if type(model) not in (GraphClassifier, Greed):
        return None
    assert isinstance(model, GraphClassifier | Greed)
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return None
    weights = {name: tensor.detach().cpu().double().numpy() for name, tensor in model.state_dict().items()}
    return _classifier(model, weights) if isinstance(model, GraphClassifier) else _greed(model, weights)


def _classifier(model: GraphClassifier, weights: dict[str, _Matrix]) -> Network:
    """The margin of accept over reject: a linear function of the largest last states of a graph."""
    kind, layers = _KINDS[model.architecture], []
    for i, norm in enumerate(model.bns):
        assert isinstance(norm, torch.nn.BatchNorm1d)
        conv = {name.removeprefix(f"convs.{i}."): value for name, value in weights.items()}
        scale = weights[f"bns.{i}.weight"] / np.sqrt(weights[f"bns.{i}.running_var"] + norm.eps)  # [hidden]
        shift = weights[f"bns.{i}.bias"] - weights[f"bns.{i}.running_mean"] * scale
        if kind == GIN:
            second, second_bias = conv["nn.2.weight"].T * scale, conv["nn.2.bias"] * scale + shift
            own = 1.0 + float(conv["eps"][0])
            layers.append(_Layer(conv["nn.0.weight"].T, conv["nn.0.bias"], None, own, second, second_bias))
        elif kind == SAGE:
            keep = conv["lin_r.weight"].T * scale
            layers.append(_Layer(conv["lin_l.weight"].T * scale, conv["lin_l.bias"] * scale + shift, keep))
        else:
            keep = None
            if kind == GAT:
                keep = conv["lin.weight"].T @ np.stack([conv["att_src"][0, 0], conv["att_dst"][0, 0]], axis=1)
            layers.append(_Layer(conv["lin.weight"].T * scale, conv["bias"] * scale + shift, keep))
    head, bias = weights["fc.weight"], weights["fc.bias"]
    features = model.features.detach().cpu().double().numpy()
    return _network(kind, False, features, layers, [(head[1:] - head[:1]).T], [bias[1:] - bias[:1]])


def _greed(model: Greed, weights: dict[str, _Matrix]) -> Network:
    """The embedding: a perceptron of the states of all layers, each summed over the graph."""
    layers = [
        _Layer(
            weights[f"convs.{i}.nn.0.weight"].T, weights[f"convs.{i}.nn.0.bias"], None,
            1.0 + float(weights[f"convs.{i}.eps"][0]),
            weights[f"convs.{i}.nn.2.weight"].T, weights[f"convs.{i}.nn.2.bias"],
        )
        for i in range(model.num_layers)
    ]  # fmt: skip
    first, *later = [weights[f"post.{2 * i}.weight"].T for i in range(len(model.head_widths) + 1)]
    head = [*first.reshape(model.num_layers + 1, model.width, -1), *later]
    biases = [weights[f"post.{2 * i}.bias"] for i in range(len(later) + 1)]
    return _network(GIN, True, weights["pre.weight"].T + weights["pre.bias"], layers, head, biases)


def _network(
    kind: int,
    sums: bool,
    inputs: _Matrix,
    layers: Sequence[_Layer],
    head: Sequence[_Matrix],
    head_bias: Sequence[_Matrix],
) -> Network:
    """The network, all widths padded to the largest, and that to whole vector registers."""
    maps = [matrix for layer in layers for matrix in (layer.send, layer.second) if matrix is not None]
    sizes = [max(matrix.shape) if sums else matrix.shape[1] for matrix in [*maps, *head]]
    width = -(-max(*sizes, inputs.shape[1] if sums else 0, 2) // 8) * 8
    tables = [inputs @ layers[0].send]
    if layers[0].keep is not None:
        tables.append(inputs @ layers[0].keep)
    if sums:
        tables.append(inputs)
    later, seconds = layers[1:], [layer.second for layer in layers if layer.second is not None]
    return Network(
        kind=kind,
        sums=sums,
        num_outputs=len(head_bias[-1]),
        tables=_stacked(tables, (len(inputs) + 1, width)),  # the last row is that of a blank node, which sends nothing
        send=_stacked([layer.send if sums else layer.send.T for layer in later], (width, width)),
        keep=_stacked([layer.keep.T for layer in later if layer.keep is not None], (width, width)),
        own=np.array([layer.own for layer in layers], np.float32),
        bias=_stacked([layer.bias for layer in layers], (width,)),
        second=_stacked([second if sums else second.T for second in seconds], (width, width)),
        second_bias=_stacked([layer.second_bias for layer in layers if layer.second_bias is not None], (width,)),
        head=_stacked([matrix.T for matrix in head], (width, width)),
        head_bias=_stacked(head_bias, (width,), np.float64),
    )


def _stacked(arrays: Sequence[_Matrix], shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """The arrays, each with zeros up to the shape."""
    result = np.zeros((len(arrays), *shape), dtype)
    for place, array in enumerate(arrays):
        result[place][tuple(slice(size) for size in array.shape)] = array
    return result
