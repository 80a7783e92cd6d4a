"""Whatever fails while a file is written: what was there before stays, or the new file is there whole."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
import torch

from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.models import ClassifierTraining, train_classifier
from comrecgc.run import facts_path, load_arrays, load_weights, save_arrays, save_weights, write_text
from tests.cli.command import run
from tests.explanations import explain, tiny_dataset
from tests.stubs import small_dataset
from tests.trust.conftest import names, one_line
from tests.trust.faults import Disk

T = TypeVar("T")

CODES = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS]


def read(load: Callable[[], T]) -> tuple[T | None, str]:
    """What is read, or the complaint, which must be one line."""
    try:
        return load(), ""
    except InputError as error:
        complaint = str(error)
    assert "\n" not in complaint
    return None, complaint


@pytest.mark.parametrize("code", CODES)
def test_a_file_is_the_old_or_the_new_one_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "file"
    steps = ["create", "write", "fsync", "replace", "fsync"]
    for number, step in enumerate(steps, start=1):
        write_text(path, "old " * 1000)
        with monkeypatch.context() as patch:
            disk = Disk(patch, fail_at=number, code=code)
            with pytest.raises(InputError, match=rf"^Cannot write .*file: {os.strerror(code)}$"):
                write_text(path, "new " * 2000)
            assert [name for name, _ in disk.operations] == steps[:number]
        assert path.read_text() == ("new " * 2000 if number == 5 else "old " * 1000), step
        assert names(tmp_path) == {"file"}


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, fail_at=5, code=errno.EINVAL)
    write_text(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_run_is_never_read_half_old_half_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = explain(tiny_dataset(), [])
    after = replace(before, notes=("another run",))
    texts, refused = {before.to_json(): 0, after.to_json(): 0}, 0
    with monkeypatch.context() as patch:
        before.save(tmp_path)
        disk = Disk(patch)
        after.save(tmp_path)
    for number in range(1, len(disk.operations) + 1):
        before.save(tmp_path)
        with monkeypatch.context() as patch:
            Disk(patch, fail_at=number)
            with pytest.raises(InputError, match="Cannot write"):
                after.save(tmp_path)
        found, complaint = read(lambda: Explanation.load(tmp_path))
        if found is None:
            assert "is damaged: its SHA-256 must" in complaint
            refused += 1
        else:
            texts[found.to_json()] += 1
    assert len(disk.operations) == 5 * 5
    assert list(texts.values()) == [4, 1]  # before the first rename; after the last
    assert refused == 20


def test_weights_and_their_facts_are_never_of_two_writings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights.safetensors"
    states = [{"w": torch.full((3,), float(i))} for i in range(2)]
    outcomes = []
    for number in range(1, 11):
        save_weights(path, states[0], {"kind": "test", "of": 0})
        with monkeypatch.context() as patch:
            Disk(patch, fail_at=number)
            with pytest.raises(InputError, match="Cannot write"):
                save_weights(path, states[1], {"kind": "test", "of": 1})
        found, complaint = read(lambda: load_weights(path, kind="test"))
        if found is None:
            assert "is damaged or half replaced" in complaint
            outcomes.append("refused")
        else:
            state, facts = found
            assert torch.equal(state["w"], states[facts["of"]]["w"])
            outcomes.append(str(facts["of"]))
    assert outcomes == ["0"] * 4 + ["refused"] * 5 + ["1"]


def test_weights_written_before_there_were_checksums_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_weights(path, {"w": torch.zeros(2)}, {"kind": "test"})
    facts_path(path).write_text(json.dumps({"kind": "test"}))
    assert load_weights(path, kind="test")[0]["w"].tolist() == [0.0, 0.0]


def test_a_flipped_bit_in_a_training_checkpoint_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "fit.npz"
    save_arrays(path, {"w": torch.arange(400.0).numpy()}, {"step": 3})
    arrays, facts = load_arrays(path)
    assert (arrays["w"].tolist(), facts) == (list(range(400)), {"step": 3})
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        found, complaint = read(lambda: load_arrays(path))
        if found is None:
            assert complaint.startswith(f"{path} is damaged")
            refused += 1
        else:  # a date in the archive
            assert (found[0]["w"].tolist(), found[1]) == (list(range(400)), {"step": 3})
    assert refused > 0.9 * len(whole)


def test_a_failed_write_of_a_trained_model_is_refused_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, training = small_dataset(), ClassifierTraining(epochs=1, hidden=4)
    for number in range(1, 11):  # five operations for the facts, five for the weights
        out = tmp_path / str(number) / "m.safetensors"
        with monkeypatch.context() as patch:
            Disk(patch, fail_at=number)
            with pytest.raises(InputError, match="Cannot write"):
                train_classifier(dataset, training, out=out)
        assert names(out.parent) <= {"m.json", "m.safetensors"}
        train_classifier(dataset, training, out=out)
        assert names(out.parent) == {"m.json", "m.safetensors"}


@pytest.mark.usefixtures("no_pauses")
def test_a_run_goes_on_after_a_failed_write_of_any_of_its_files(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        assert run(monkeypatch, *options, "--out", tmp_path / "whole") == 0
    expected = (tmp_path / "whole" / "explanation.json").read_bytes()
    files = list(dict.fromkeys(name for _, name in disk.operations))
    assert set(files) == {*names(tmp_path / "whole"), "run.json", "search.npz"}
    capsys.readouterr()
    for number, name in enumerate(files):
        folder = tmp_path / name
        operation = ("create", "write", "fsync", "replace")[number % 4]
        with monkeypatch.context() as patch:
            Disk(patch, fail_on=(operation, name))
            assert run(monkeypatch, *options, "--out", folder) == 2
        error = one_line(capsys.readouterr().err)
        assert error == f"error: Cannot write {folder / name}: No space left on device"
        assert not list(folder.glob(".*"))
        assert run(monkeypatch, *options, "--out", folder, "--resume") == 0
        assert (folder / "explanation.json").read_bytes() == expected
        assert names(folder) == names(tmp_path / "whole")
        capsys.readouterr()
