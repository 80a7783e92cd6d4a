"""Embedders on disk: safetensors with a JSON header file, and the released `.pt` state dicts as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from comrecgc.embedding.greed import Greed
from comrecgc.errors import InputError
from comrecgc.storage import check_alphabet, load_checked, load_state, load_weights, save_weights

KIND = "greed"


def save_embedder(model: Greed, path: Path, facts: dict[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON file beside it.

    Args:
        model: The embedder.
        path: A file name ending in `.safetensors`.
        facts: What else a reader should know: label names, held-out errors, seed …
    """
    sizes = {
        name: getattr(model, name) for name in ("num_labels", "num_layers", "width", "output_width", "head_widths")
    }
    save_weights(path, dict(model.state_dict()), {"kind": KIND, **sizes, **facts})


def load_embedder(path: str | Path, *, label_names: Sequence[str] | None = None) -> Greed:
    """An embedder from a file written by `save_embedder`, or a released GREED state dict (`.pt`, `.pth`).

    Args:
        path: The file.
        label_names: Names of the data's node labels; an embedder for another alphabet is refused.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        state, facts = load_weights(path, kind=KIND)
    else:
        state, facts = load_state(path), {}
    state = {name.removeprefix("embed_model."): tensor for name, tensor in state.items()}
    sizes = _sizes(state, path)
    model = load_checked(lambda: Greed(**sizes), state, path, "GREED embedder")
    check_alphabet(path, facts, model.num_labels, label_names)
    model.facts = facts
    return model.eval()


def _sizes(state: dict[str, Tensor], path: Path) -> dict[str, Any]:
    """The sizes behind a state dict."""
    layers = sum(name.startswith("convs.") and name.endswith(".eps") for name in state)
    head = [state[name] for name in sorted(state) if name.startswith("post.") and name.endswith(".weight")]
    matrices = [tensor for tensor in (state.get("pre.weight"), *head) if tensor is not None and tensor.ndim == 2]
    if layers == 0 or len(head) < 2 or len(matrices) != len(head) + 1:
        raise InputError(
            f"{path} is not a GREED embedder: it lacks pre, convs or post (got {', '.join(list(state)[:3])})"
        )
    width, num_labels = matrices[0].shape
    return {
        "num_labels": num_labels,
        "num_layers": layers,
        "width": width,
        "output_width": len(head[-1]),
        "head_widths": tuple(len(matrix) for matrix in head[:-1]),
    }
