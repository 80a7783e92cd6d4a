"""The readers of runs by rules: `rules.npz`, and the rules in `explanation.json`, with another choice made from both."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.stubs import AvoidsLabel, small_dataset

from comrecgc.algorithms.registry import Rules
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import load_explanation
from comrecgc.run import RunContext
from fuzz.choices import Choices
from fuzz.mutation import json_bytes, mutated_bytes, mutated_json
from fuzz.storage import hostile_array, npy
from fuzz.validity import check_graph

NAMES_FILE = False  # wishes of a run are parameters, not a file
MAX_SECONDS = 10.0

_TABLES = ("explanation.json", "recourses.csv", "coverage_curve.csv")


@functools.cache
def seed() -> tuple[dict[str, bytes], dict[str, npt.NDArray[Any]]]:
    """Files of a small run by rules, and the arrays of its table."""
    explainer = CommonRecourseExplainer(
        AvoidsLabel(2, 3), Rules(max_changes=2), theta=0.3, num_recourses=3, panel=False, context=RunContext(jobs=1)
    )
    with tempfile.TemporaryDirectory() as folder:
        explainer.fit(small_dataset(24)).explanation_.save(folder)
        files = {file.name: file.read_bytes() for file in Path(folder).iterdir()}
        with np.load(Path(folder) / "rules.npz") as arrays:
            return files, dict(arrays)


def write(choices: Choices, folder: Path) -> None:
    """A run folder with something wrong in its table or its rules, checksums right."""
    files, arrays = dict(seed()[0]), dict(seed()[1])
    if choices.chance(0.5):
        for _ in range(choices.below(3)):
            key = choices.one_of(list(arrays))
            arrays[key] = hostile_array(choices, arrays[key])
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, array in arrays.items():
                archive.writestr(f"{key}.npy", npy(array))
        data = buffer.getvalue()
        files["rules.npz"] = mutated_bytes(choices, data) if choices.chance(0.1) else data
    elif choices.chance(0.8):
        document = json.loads(files["explanation.json"])
        part = choices.one_of((document, document["recourses"][0]["rule"], document["recourses"][0]["covered"][0]))
        name = choices.one_of(sorted(part))
        part[name] = mutated_json(choices, part[name])
        files["explanation.json"] = json_bytes(choices, document)
    manifest: dict[str, Any] = json.loads(files["manifest.json"])
    manifest["sha256"] = {table: hashlib.sha256(files[table]).hexdigest() for table in _TABLES}
    manifest["facts"]["rules.npz"] = hashlib.sha256(files["rules.npz"]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode()
    for file, content in files.items():
        (folder / file).write_bytes(content)


def read(folder: Path) -> None:
    """Load the run and choose from it again; what the other choice claims was checked when it was made."""
    explanation = load_explanation(folder)
    if explanation.chooser is None:
        return
    chosen = explanation.choose(num_recourses=2)
    assert len(chosen.recourses) <= 2
    for recourse in chosen.recourses:
        for member in recourse.covered:
            check_graph(member.counterfactual, len(explanation.schema.label_names))
