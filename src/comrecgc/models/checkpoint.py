"""Classifiers on disk: safetensors with a JSON file of facts, and the released `.pth` state dicts as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from comrecgc.errors import InputError
from comrecgc.models.networks import NUM_CLASSES, GraphClassifier
from comrecgc.run import check_alphabet, facts_path, load_checked, load_state, load_weights, save_weights

KIND = "classifier"

_MAX_LABELS = 4096  # a table of one-hot rows is the square of this

# A parameter that only this architecture has, and whose shape is [hidden, width of the features].
_FIRST_WEIGHT = {
    "gat": "convs.0.lin.weight",
    "gcn": "convs.0.lin.weight",
    "sage": "convs.0.lin_l.weight",
    "gin": "convs.0.nn.0.weight",
}


def save_classifier(model: GraphClassifier, path: Path, facts: dict[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON file beside it.

    Args:
        model: The classifier.
        path: A file name ending in `.safetensors`.
        facts: What else a reader should know: label names, split, accuracy …
    """
    table = model.features.cpu().numpy()
    is_one_hot = table.shape[0] == table.shape[1] and np.array_equal(table, np.eye(len(table)))
    sizes = {
        "kind": KIND,
        "architecture": model.architecture,
        "num_labels": model.num_labels,
        "hidden": model.hidden,
        "features": None if is_one_hot else table.tolist(),
    }
    save_weights(path, dict(model.state_dict()), sizes | facts)


def load_classifier(path: str | Path, *, label_names: Sequence[str] | None = None) -> GraphClassifier:
    """A classifier from a file written by `save_classifier`, or a released state dict (`.pth`, `.pt`).

    A state dict says nothing of features, so its nodes are taken to be one-hot labels.

    Args:
        path: The file.
        label_names: Names of the data's node labels; a classifier for another alphabet is refused.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        state, facts = load_weights(path, kind=KIND)
    else:
        state, facts = load_state(path), {}
    architecture, hidden, width = _sizes(state, path)
    features = _features(facts, width, path)
    model = load_checked(
        lambda: GraphClassifier(architecture, features, hidden=hidden), state, path, f"{architecture} classifier"
    )
    check_alphabet(path, facts, model.num_labels, label_names)
    model.facts = facts
    return model.eval()


def _sizes(state: dict[str, Tensor], path: Path) -> tuple[str, int, int]:
    """Architecture, hidden width and feature width behind a state dict."""
    has_attention = "convs.0.att_src" in state
    for architecture, name in _FIRST_WEIGHT.items():
        if name in state and state[name].ndim == 2 and (architecture == "gat") == has_attention:
            if "fc.weight" not in state or state["fc.weight"].shape[:1] != (NUM_CLASSES,):
                raise InputError(f"{path} must classify into {NUM_CLASSES} classes (got fc.weight of {_shape(state)})")
            hidden, width = state[name].shape
            return architecture, hidden, width
    raise InputError(f"{path} is not a classifier: it lacks convs.0 (got {', '.join(list(state)[:3]) or 'nothing'})")


def _shape(state: dict[str, Tensor]) -> str:
    return str(tuple(state["fc.weight"].shape)) if "fc.weight" in state else "none"


def _features(facts: dict[str, Any], width: int, path: Path) -> npt.NDArray[np.float32] | int:
    table = facts.get("features")
    if table is None:
        if width > _MAX_LABELS:
            raise InputError(f"{path} must be for at most {_MAX_LABELS} one-hot node labels (got {width})")
        return width
    try:
        with np.errstate(over="ignore"):
            features = np.array(table, dtype=np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{facts_path(path)}: features must be a table of numbers") from error
    if features.ndim != 2 or features.shape[1] != width:
        raise InputError(f"{facts_path(path)}: features must have {width} columns (got {features.shape})")
    if not np.isfinite(features).all():
        raise InputError(f"{facts_path(path)}: features must be finite numbers")
    return features
