"""The package's own networks as plain weights for `kernels.incremental`: evaluation mode, batch norm folded in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.models import Classifier, GraphClassifier
from comrecgc.scoring import incremental_kernels

_KINDS = {"gcn": 0, "sage": 1, "gin": 2}


def compiled_network(classifier: Classifier) -> Any | None:
    """The classifier's weights as a `incremental_kernels.Network`; None for models that only a forward pass can score."""
    if not isinstance(classifier, GraphClassifier) or classifier.architecture not in _KINDS:
        return None
    kind = _KINDS[classifier.architecture]
    features = classifier.features.detach().cpu().double().numpy()
    width = classifier.hidden
    send, keep, bias, second, second_bias = [], [], [], [], []
    own = 1.0
    layers: Iterable[tuple[Any, Any]] = zip(classifier.convs, classifier.bns, strict=True)
    for conv, norm in layers:
        scale = _array(norm.weight) / np.sqrt(_array(norm.running_var) + norm.eps)
        shift = _array(norm.bias) - _array(norm.running_mean) * scale
        if classifier.architecture == "gin":
            own = 1.0 + float(conv.eps)
            send.append(_array(conv.nn[0].weight).T)
            bias.append(_array(conv.nn[0].bias))
            second.append(_array(conv.nn[2].weight).T * scale)
            second_bias.append(_array(conv.nn[2].bias) * scale + shift)
            keep.append(send[-1])
            continue
        if classifier.architecture == "gcn":
            send.append(_array(conv.lin.weight).T * scale)
            keep.append(send[-1])
            bias.append(_array(conv.bias) * scale + shift)
        else:
            send.append(_array(conv.lin_l.weight).T * scale)
            keep.append(_array(conv.lin_r.weight).T * scale)
            bias.append(_array(conv.lin_l.bias) * scale + shift)
        second.append(np.zeros((width, width)))
        second_bias.append(np.zeros(width))
    head, head_bias = _array(classifier.fc.weight), _array(classifier.fc.bias)
    return incremental_kernels.Network(
        kind,
        _padded(_with_blank(features @ send[0]), -1),
        _padded(_with_blank(features @ keep[0]), -1),
        _padded(np.stack(send[1:]).transpose(0, 2, 1), -1, -2),
        _padded(np.stack(keep[1:]).transpose(0, 2, 1), -1, -2),
        own,
        _padded(np.stack(bias), -1),
        _padded(np.stack(second).transpose(0, 2, 1), -1, -2),
        _padded(np.stack(second_bias), -1),
        _padded(head[1] - head[0], -1),
        float(head_bias[1] - head_bias[0]),
    )


def _array(tensor: Any) -> npt.NDArray[np.float64]:
    return np.asarray(tensor.detach().cpu().double().numpy())


def _with_blank(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A table by label, and a row of zeros for a blank node."""
    return np.concatenate([table, np.zeros((1, table.shape[1]))])


def _padded(values: npt.NDArray[np.float64], *axes: int) -> npt.NDArray[np.float32]:
    """Single precision, with zeros up to a multiple of eight along the given axes: whole vector registers."""
    widths = [(0, -size % 8 if axis - values.ndim in axes else 0) for axis, size in enumerate(values.shape)]
    return np.ascontiguousarray(np.pad(values, widths), dtype=np.float32)
