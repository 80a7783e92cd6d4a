"""The readers of classifiers and embedders: safetensors with its JSON file, and PyTorch state dicts."""

from __future__ import annotations

import functools
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import ARCHITECTURES, GraphClassifier, Greed, load_classifier, load_embedder, save_classifier
from comrecgc.models.greed import save_embedder
from fuzz.choices import Choices
from fuzz.contract import emptied
from fuzz.mutation import json_bytes, mutated_bytes, mutated_json

NAMES_FILE = True
MAX_SECONDS = 5.0
NAMES = ("C", "O", "N")

State = dict[str, Tensor]

_SIZES = ((), (0,), (1,), (2, 0), (1, 3), (3, 1), (100_000, 1), (1, 200_000), (2, 2, 2))
_DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)
_DTYPE_NAMES = ("F64", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F4", "F6_E2M3", "C64", "U64", "X", "")


@functools.cache
def seeds() -> list[tuple[str, State, dict[str, Any]]]:
    """Kind, weights and facts of small models."""
    torch.manual_seed(0)
    facts = {"label_names": list(NAMES), "accuracy": 0.9}
    models = []
    for architecture in ARCHITECTURES:
        model = GraphClassifier(architecture, 3, hidden=2)
        sizes = {"kind": "classifier", "architecture": architecture, "num_labels": 3, "hidden": 2}
        models.append(("classifier", dict(model.state_dict()), sizes | {"features": None} | facts))
    table = np.array([[1, 0.5], [0, 2], [3, 1]], dtype=np.float32)
    wide = dict(GraphClassifier("gcn", table, hidden=2).state_dict())
    models.append(("classifier", wide, {"kind": "classifier", "features": table.tolist()} | facts))
    greed = Greed(3, num_layers=2, width=2, output_width=2)
    models.append(("greed", dict(greed.state_dict()), {"kind": "greed", "num_labels": 3} | facts))
    return models


def write(choices: Choices, folder: Path) -> None:
    """The file of a model with something wrong in its weights, its facts or its bytes."""
    kind, state, facts = choices.one_of(seeds())
    target = choices.below(5)
    if target == 0:
        state = hostile_state(choices, state)
    facts = mutated_json(choices, facts) if target == 1 else facts
    if choices.chance(0.4):
        buffer = io.BytesIO()
        torch.save(state, buffer, _use_new_zipfile_serialization=choices.chance(0.7))
        name, data = f"{kind}.pt", buffer.getvalue()
    else:
        real = {key: value for key, value in state.items() if value.layout == torch.strided and not value.is_meta}
        small = {key: value.contiguous().clone() for key, value in real.items() if value.numel() < 10**6}
        name, data = f"{kind}.safetensors", safetensors.torch.save(small)
        text = json_bytes(choices, facts)
        (folder / f"{kind}.json").write_bytes(mutated_bytes(choices, text) if target == 2 else text)
        data = _with_other_header(choices, data) if target == 3 else data
    (folder / name).write_bytes(mutated_bytes(choices, data) if target == 4 else data)


def hostile_state(choices: Choices, state: State) -> State:
    """Weights with names, shapes, types or values that do not belong there."""
    state = dict(state)
    name = choices.one_of(list(state))
    tensor = state[name]
    match choices.below(8):
        case 0:
            del state[name]
        case 1:
            state[choices.one_of(("x", "", "convs.9.eps", "post.10.weight", "embed_model.pre.weight", "fc.weight"))] = (
                tensor
            )
        case 2:
            state[name] = torch.zeros(choices.one_of(_SIZES))
        case 3:
            state[name] = tensor.to(choices.one_of(_DTYPES))
        case 4:
            state[name] = torch.full(tensor.shape, choices.one_of((float("nan"), float("inf"), 1e38, 0.0)))
        case 5:
            state[name] = torch.zeros(1).expand(choices.one_of(((10**6, 10**6), (3, 3), (2, 10**9), (10**5, 3))))
        case 6:
            state[name] = torch.empty(tensor.shape, device="meta") if choices.chance(0.5) else tensor.to_sparse()
        case _:
            state[name] = tensor.t() if tensor.ndim == 2 else tensor[None]
    return state


def _with_other_header(choices: Choices, data: bytes) -> bytes:
    """A safetensors file whose header says something else of the same bytes."""
    (size,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    if choices.chance(0.4):
        header[choices.one_of(list(header))]["dtype"] = choices.one_of(_DTYPE_NAMES)
    else:
        header = mutated_json(choices, header)
    text = json_bytes(choices, header)
    size = len(text) if choices.chance(0.9) else choices.one_of((0, len(text) + 1, 2**63, 2**64 - 1, 10**9))
    return struct.pack("<Q", size) + text + body


def read(folder: Path) -> None:
    """Load the model, let it look at a graph, and load it again after writing it."""
    (path,) = (file for file in folder.iterdir() if file.suffix != ".json")
    again = emptied(folder.parents[1] / "again") / "model.safetensors"
    if path.stem == "classifier":
        classifier = load_classifier(path)
        load_classifier(path, label_names=NAMES)
        batch = _graphs(classifier.num_labels)
        probability = classifier.accept_probability(batch)
        assert ((probability >= 0) & (probability <= 1)).all()
        save_classifier(classifier, again, {})
        assert np.array_equal(load_classifier(again).accept_probability(batch), probability)
    else:
        embedder = load_embedder(path)
        load_embedder(path, label_names=NAMES)
        batch = _graphs(embedder.num_labels)
        embedding = embedder.embed(batch)
        assert np.isfinite(embedding).all()
        save_embedder(embedder, again, {})
        assert np.array_equal(load_embedder(again).embed(batch), embedding)


def _graphs(num_labels: int) -> GraphBatch:
    return GraphBatch.from_graphs([Graph([0, num_labels - 1, 0], [(0, 1), (1, 2)]), Graph([0], [])])
