"""The reader of run folders: `manifest.json`, `explanation.json` and their tables."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.explanations import random_explanation, tiny_dataset

from comrecgc.explanation import Explanation
from fuzz.choices import Choices
from fuzz.contract import emptied
from fuzz.mutation import json_bytes, mutated_bytes, mutated_json
from fuzz.validity import check_graph

NAMES_FILE = True
MAX_SECONDS = 5.0

_TABLES = ("explanation.json", "recourses.csv", "coverage_curve.csv")


@functools.cache
def seeds() -> list[dict[str, bytes]]:
    """Files of a few small runs."""
    datasets = [tiny_dataset(), tiny_dataset(("C", "C", "N")), tiny_dataset(("a", "<b>", "ü"))]
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for seed, dataset in enumerate(datasets):
            random_explanation(dataset, 1 + seed, seed=seed).save(Path(folder) / str(seed))
            runs.append({file.name: file.read_bytes() for file in (Path(folder) / str(seed)).iterdir()})
    return runs


def write(choices: Choices, folder: Path) -> None:
    """A run folder with something wrong, its checksums mostly right."""
    files = dict(choices.one_of(seeds()))
    name = choices.one_of(("explanation.json", "explanation.json", "explanation.json", "manifest.json", *_TABLES))
    if name.endswith(".json") and choices.chance(0.85):
        files[name] = json_bytes(choices, mutated_json(choices, json.loads(files[name])))
    else:
        files[name] = mutated_bytes(choices, files[name])
    if name != "manifest.json" and choices.chance(0.97):
        manifest: dict[str, Any] = json.loads(files["manifest.json"])
        manifest["sha256"] = {table: hashlib.sha256(files[table]).hexdigest() for table in _TABLES}
        files["manifest.json"] = json.dumps(manifest).encode()
    if choices.chance(0.02):
        del files[choices.one_of(list(files))]
    for file, content in files.items():
        (folder / file).write_bytes(content)


def read(folder: Path) -> None:
    """Read the run, and read it again after writing it."""
    explanation = Explanation.load(folder)
    for rejected in explanation.inputs.values():
        check_graph(rejected.graph, len(explanation.schema.label_names))
    for recourse in explanation.recourses:
        for member in recourse.covered:
            check_graph(member.counterfactual, len(explanation.schema.label_names))
    again = emptied(folder.parents[1] / "again")
    explanation.save(again)
    loaded = Explanation.load(again)
    assert loaded == explanation
    assert loaded.facts == explanation.facts
    assert loaded.to_json() == explanation.to_json()
    assert str(len(explanation.recourses)) in explanation._repr_html_()
