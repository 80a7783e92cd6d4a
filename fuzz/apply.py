"""Recourses of a run applied to strangers' graphs, from Python and on the command line."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.scoring.plain import random_classifier, random_greed
from tests.stubs import small_dataset
from typer.testing import CliRunner

from comrecgc.algorithms.base import VectorChoice
from comrecgc.algorithms.registry import Vectors
from comrecgc.cli.app import app
from comrecgc.data import GraphDataset, load_dataset
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Graph
from comrecgc.models import save_classifier
from comrecgc.models.greed import save_embedder
from comrecgc.run import RunContext
from comrecgc.runs import open_run
from fuzz.choices import Choices
from fuzz.mutation import NUMBERS, json_bytes, mutated_json
from fuzz.smiles import write as write_table
from fuzz.tu import hostile_files, written
from fuzz.validity import check_graph

NAMES_FILE = False  # graphs in memory have no file
MAX_SECONDS = 30.0  # accepted graphs are searched, seconds long if they are chains of a hundred nodes alike
NAMES = ("C", "N", "O")
"""Elements, so that molecules can be strangers as well."""


@functools.cache
def seed() -> tuple[Path, dict[str, bytes]]:
    """A folder with two models, and the files of a run found with them."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-models-"))
    classifier = random_classifier("gcn", len(NAMES), hidden=4)
    embedder = random_greed(len(NAMES), num_layers=2, width=4)
    save_classifier(classifier, folder / "classifier.safetensors", {})
    save_embedder(embedder, folder / "embedder.safetensors", {})
    dataset = replace(small_dataset(40), label_names=NAMES)
    explainer = CommonRecourseExplainer(
        classifier,
        Vectors(embedder=embedder, changes="any", choice=VectorChoice(delta=0.002)),
        theta=0.2,
        num_recourses=3,
        context=RunContext(jobs=1),
    )
    explainer.fit(dataset).save(folder / "run")
    assert explainer.explanation_.recourses
    return folder, {file.name: file.read_bytes() for file in (folder / "run").iterdir()}


def write(choices: Choices, folder: Path) -> None:
    """A run with strange parameters or vectors, strange graphs, or both."""
    files = dict(seed()[1])
    explanation = json.loads(files["explanation.json"])
    if choices.chance(0.5):
        _disturb(choices, explanation)
    files["explanation.json"] = json_bytes(choices, explanation)
    manifest: dict[str, Any] = json.loads(files["manifest.json"])
    manifest["sha256"]["explanation.json"] = hashlib.sha256(files["explanation.json"]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode()
    (folder / "run").mkdir()
    for name, content in files.items():
        (folder / "run" / name).write_bytes(content)
    (folder / ("cli" if choices.chance(0.3) else "python")).touch()
    (folder / "data").mkdir()
    match choices.below(6):
        case 0:
            write_table(choices, folder / "data")
        case 1:
            (folder / "data" / "T").mkdir()
            for name, content in hostile_files(choices).items():
                if name.isprintable() and "/" not in name and len(name) < 200:
                    (folder / "data" / "T" / name).write_bytes(content)
        case _:
            written(_strange_dataset(choices), folder / "data" / "T")
            _name_labels(choices, folder / "data" / "T")


def _disturb(choices: Choices, explanation: dict[str, Any]) -> None:
    """Other parameters, or vectors of another width or length; the file stays consistent."""
    if choices.chance(0.5):
        explanation["parameters"] = mutated_json(choices, explanation["parameters"])
        return
    width, value = choices.one_of((None, 1, 5, 1000)), choices.one_of([*NUMBERS, 1e-3])
    for recourse in explanation["recourses"]:
        vector = recourse["vector"] if width is None else [0.001] * width
        vector[0] = value if choices.chance(0.5) else vector[0]
        recourse["vector"] = vector
        if all(isinstance(each, float | int) and abs(each) < 1e38 for each in vector):
            recourse["norm"] = float(np.linalg.norm(np.array(vector, dtype=np.float32).astype(np.float64)))


def _strange_dataset(choices: Choices) -> GraphDataset:
    """Graphs of unusual shapes: single nodes, stars, rings, cliques, trees, several pieces."""
    graphs = []
    for _ in range(2 + choices.below(4)):
        size = choices.one_of((1, 2, 3, 5, 8, 12, 20, 60))
        pairs = [(i, j) for j in range(size) for i in range(j)]
        edges = {
            0: [],
            1: [(0, j) for j in range(1, size)],
            2: [(j - 1, j) for j in range(1, size)] + ([(0, size - 1)] if size > 2 else []),
            3: pairs if size <= 12 else pairs[:40],
            4: [(choices.below(j), j) for j in range(1, size)],
            5: [pair for pair in pairs if choices.chance(0.1)],
        }[choices.below(6)]
        labels = [choices.below(3) for _ in range(size)] if choices.chance(0.8) else [choices.below(3)] * size
        graphs.append(Graph(labels, edges))
    classes = (np.arange(len(graphs)) % 2).astype(np.int8)
    return GraphDataset(name="strange", graphs=tuple(graphs), classes=classes, label_names=NAMES)


def _name_labels(choices: Choices, folder: Path) -> None:
    """A readme that names the labels, mostly as the run does."""
    names = list(NAMES) if choices.chance(0.9) else [choices.one_of((*NAMES, "X", "0")) for _ in NAMES]
    rows = "".join(f"\t{label}\t{name}\n" for label, name in enumerate(names))
    (folder / "T_label_readme.txt").write_text(
        f"Node labels were converted to integer values using this map:\n\n{rows}\n"
    )


def read(folder: Path) -> None:
    """Apply the run; what it claims must hold, and the command line must say no in one line."""
    models = {name: seed()[0] / f"{name}.safetensors" for name in ("classifier", "embedder")}
    data = next((folder / "data").iterdir())
    if (folder / "cli").exists():
        options = [item for name, path in models.items() for item in (f"--{name}", str(path))]
        arguments = ["apply", "--run", str(folder / "run"), "--dataset", str(data), "--jobs", "1", *options]
        result = CliRunner().invoke(app, arguments)
        if result.exit_code == 2:
            raise InputError(result.stderr.strip().removeprefix("error: "))
        if result.exit_code:
            raise result.exception or AssertionError(result.output)
        return
    opened = open_run(folder / "run", classifier=models["classifier"], embedder=models["embedder"])
    applied = opened.apply(load_dataset(data), RunContext(jobs=1))
    for recourse in applied.recourses:
        for member in recourse.covered:
            check_graph(member.counterfactual, len(NAMES))
            assert member.probability > 0.5
