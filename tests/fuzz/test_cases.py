"""Every input that once broke a reader, and a short random run of every target."""

from __future__ import annotations

import importlib
import io
import random
import shutil
import time
import zipfile
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from fuzz.choices import Choices
from fuzz.contract import Target, emptied, outcome_of
from fuzz.run import TARGETS

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, one_edit_table
from comrecgc.models import load_classifier, load_embedder
from comrecgc.run import load_checked

CASES = Path(__file__).parent / "cases"
SECONDS = 3.0
MOST = 300


def target(name: str) -> Target:
    return cast(Target, importlib.import_module(f"fuzz.{name}"))


@pytest.mark.parametrize(
    ("name", "case"), [(path.parent.name, path.name) for path in sorted(CASES.glob("*/*"))], ids=lambda part: part
)
def test_what_broke_a_reader_is_refused(name: str, case: str, tmp_path: Path) -> None:
    folder = tmp_path / "sandbox" / "input"
    shutil.copytree(CASES / name / case, folder)
    outcome = outcome_of(target(name), folder)
    assert outcome.failure is None, outcome.failure.details
    assert outcome.refusal


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_random_run_breaks_nothing(name: str, tmp_path: Path) -> None:
    reader, folder = target(name), tmp_path / "sandbox" / "input"
    rng = random.Random(0)
    reader.write(Choices(b""), emptied(folder))  # what is made once takes longest
    outcome_of(reader, folder)
    started = time.process_time()
    verdicts = set()
    for _ in range(MOST):
        reader.write(Choices(rng.randbytes(512)), emptied(folder))
        outcome = outcome_of(reader, folder)
        assert outcome.failure is None, outcome.failure.details
        verdicts.add(outcome.accepted)
        if time.process_time() - started > SECONDS:
            break
    assert verdicts == {True, False}  # neither a harness that nothing gets past nor one that all does


def test_the_same_bytes_make_the_same_input(tmp_path: Path) -> None:
    for name in ("tu", "smiles", "explanation"):
        contents = []
        for place in ("one", "two"):
            target(name).write(Choices(b"\x07" * 40), emptied(tmp_path / place))
            files = sorted(path for path in (tmp_path / place).rglob("*") if path.is_file() and path.suffix != ".zip")
            contents.append([(path.name, path.read_bytes()) for path in files])
        assert contents[0] == contents[1]


def test_a_broken_reader_is_noticed(tmp_path: Path) -> None:
    class Broken:
        NAMES_FILE = True
        MAX_SECONDS = 5.0

        def __init__(self, error: BaseException | None = None) -> None:
            self.error = error

        def write(self, choices: Choices, folder: Path) -> None:
            (folder / str(choices.below(2))).touch()

        def read(self, folder: Path) -> None:
            if self.error is None:
                (folder.parent / "escaped").touch()
            else:
                raise self.error

    folder = emptied(tmp_path / "sandbox" / "input")
    for error, kind in (
        (KeyError("x"), "KeyError at"),
        (RecursionError(), "RecursionError at"),
        (InputError("nameless"), "names no file"),
        (None, "touched files"),
    ):
        failure = outcome_of(Broken(error), folder).failure
        assert failure is not None
        assert kind in failure.kind
    assert outcome_of(Broken(InputError(f"{folder}: no")), folder).failure is None


@pytest.mark.parametrize("message", ["a\nb", "\x1b[2J", "\ud800", "\u2028", "a\x00"])
def test_refusals_are_one_plain_line(message: str) -> None:
    assert str(InputError(message)).isprintable()
    assert str(InputError("line 3: é → 'x\\n'")) == "line 3: é → 'x\\n'"


def test_sizes_in_a_file_take_no_memory(tmp_path: Path) -> None:
    greed = {
        "pre.weight": torch.zeros(100_000, 1),
        "convs.0.eps": torch.zeros(1),
        "post.0.weight": torch.zeros(1, 1),
        "post.2.weight": torch.zeros(1, 1),
    }
    torch.save(greed, tmp_path / "greed.pt")
    with pytest.raises(InputError, match=r"is not a GREED embedder: pre\.bias must have shape"):
        load_embedder(tmp_path / "greed.pt")
    torch.save(
        {"convs.0.lin.weight": torch.zeros(1, 100_000), "fc.weight": torch.zeros(2, 1)}, tmp_path / "classifier.pt"
    )
    with pytest.raises(InputError, match="at most 4096 one-hot node labels"):
        load_classifier(tmp_path / "classifier.pt")


def test_weights_go_where_they_belong(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 3)
    copy = load_checked(lambda: torch.nn.Linear(2, 3), dict(model.state_dict()), tmp_path, "line")
    assert torch.equal(copy.weight, model.weight)
    assert copy.weight.device.type == "cpu"


def test_an_archive_that_grows_to_megabytes_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in importlib.import_module("fuzz.tu").FILES.items():
            archive.writestr(name, "1\n" * (10 << 20) if "indicator" in name else text)
    folder = emptied(tmp_path / "sandbox" / "input")
    (folder / "T.zip").write_bytes(buffer.getvalue())
    assert "must not unpack to more than" in outcome_of(target("tu"), folder).refusal


def test_a_checkpoint_that_grows_is_refused(tmp_path: Path) -> None:
    storage = importlib.import_module("fuzz.storage")
    _, arrays = storage.seeds()[-1]
    folder = emptied(tmp_path / "sandbox" / "input")
    np.savez_compressed(folder / "search.npz", **{**arrays, "curve": np.zeros(1 << 20)})
    assert "is damaged" in outcome_of(target("storage"), folder).refusal


def test_a_molecule_of_tens_of_thousands_of_atoms_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    folder = emptied(tmp_path / "sandbox" / "input")
    (folder / "t.csv").write_text(f"smiles,class\n{'C' * 20_000},1\n")
    assert "at most 5000 characters" in outcome_of(target("smiles"), folder).refusal


def test_nesting_just_within_what_the_parser_bears_is_refused(tmp_path: Path) -> None:
    runs = importlib.import_module("fuzz.explanation")
    files = dict(runs.seeds()[0])
    verdicts = []
    for depth in range(1000, 800, -1):
        folder = emptied(tmp_path / "sandbox" / "input")
        manifest = files["manifest.json"].replace(b'"facts": {', b'"facts": {"deep": ' + b"[" * depth + b"]" * depth)
        for name, content in (files | {"manifest.json": manifest}).items():
            (folder / name).write_bytes(content)
        outcome = outcome_of(target("explanation"), folder)
        assert outcome.failure is None, outcome.failure.details
        verdicts.append(outcome.refusal.rpartition(": ")[2])
        if outcome.accepted:
            break
    assert not verdicts[-1]
    assert "lists and objects must not be nested so deep" in verdicts


def test_a_graph_too_large_to_edit_is_refused() -> None:
    nodes = np.arange(5001)
    with pytest.raises(InputError, match="at most 5000 nodes"):
        one_edit_table(Graph(np.zeros(len(nodes), dtype=int), np.stack([nodes[:-1], nodes[1:]], axis=1)), 1)
