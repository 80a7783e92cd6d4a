"""Weights on disk without pickle: a safetensors file and a JSON file of facts beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from comrecgc.errors import InputError
from comrecgc.files import check_writable, read_json, write_atomically, write_json


def facts_path(path: Path) -> Path:
    """The JSON file beside a weights file."""
    return path.with_suffix(".json")


def check_output(path: Path) -> None:
    """Refuse, before any work is done, a file that weights cannot be written to."""
    if path.suffix != ".safetensors":
        raise InputError(f"Weights are written to a file that must end in .safetensors (got {path.name!r})")
    if path.is_dir():
        raise InputError(f"Cannot write {path}: it is a folder")
    check_writable(path.parent)


def save_weights(path: Path, state: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write weights and the facts about them, each file whole or not at all; the weights come last.

    Args:
        path: A file name ending in `.safetensors`; the facts go beside it, ending in `.json`.
        state: Tensors by name.
        facts: Anything JSON can say, with `kind` naming what the weights are of.
    """
    check_output(path)
    contents = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()})
    write_json(facts_path(path), facts)
    write_atomically(path, lambda file: file.write(contents))


def load_weights(path: Path, *, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights and facts written by `save_weights`.

    Args:
        path: The `.safetensors` file.
        kind: What the weights must be of.
    """
    facts = read_json(facts_path(path))
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        got = facts.get("kind") if isinstance(facts, dict) else type(facts).__name__
        raise InputError(f"{facts_path(path)} must describe a {kind} (got {got!r})")
    try:
        return safetensors.torch.load_file(path), facts
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}") from error
    except safetensors.SafetensorError as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error})") from error


def load_state(path: Path) -> dict[str, Tensor]:
    """A plain PyTorch state dict (`.pt`, `.pth`), loaded onto the CPU without unpickling code."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # torch raises many kinds for damaged files
        raise InputError(f"{path} is damaged or not a PyTorch state dict ({type(error).__name__})") from error
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError(f"{path} must hold a state dict of tensors (got {type(state).__name__})")
    return {str(name): tensor for name, tensor in state.items()}


def load_checked(model: nn.Module, state: dict[str, Tensor], path: Path, what: str) -> None:
    """Put weights into a model after checking that they are its own, name by name and shape by shape.

    Args:
        model: The model.
        state: The weights.
        path: Where they come from, for the error.
        what: What the model is, for the error.
    """
    expected = model.state_dict()
    for name, tensor in expected.items():
        if name not in state or state[name].shape != tensor.shape:
            got = tuple(state[name].shape) if name in state else "none"
            raise InputError(f"{path} is not a {what}: {name} must have shape {tuple(tensor.shape)} (got {got})")
    extra = sorted(set(state) - set(expected))
    if extra:
        raise InputError(f"{path} is not a {what}: unknown parameter (got {extra[0]!r})")
    model.load_state_dict(state)


def check_alphabet(path: Path, facts: dict[str, Any], num_labels: int, label_names: Sequence[str] | None) -> None:
    """Refuse a model made for another label alphabet than the data's.

    Args:
        path: Where the model comes from, for the error.
        facts: What its file says of it; released checkpoints say nothing, and then only the number of labels is checked.
        num_labels: How many labels the model knows.
        label_names: Names of the data's labels; None to check nothing.
    """
    if label_names is None:
        return
    if num_labels != len(label_names):
        raise InputError(f"{path} knows {num_labels} node labels, the data must have as many (got {len(label_names)})")
    known = facts.get("label_names")
    if known is not None and list(known) != list(label_names):
        raise InputError(
            f"{path} is for labels {_shown(known)}, the data must have the same (got {_shown(label_names)})"
        )


def _shown(names: Sequence[str]) -> str:
    text = ", ".join(map(str, names))
    return text if len(text) <= 60 else text[:60] + "…"
