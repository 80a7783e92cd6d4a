"""One writer at a time, and none that died."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from comrecgc.errors import InputError
from comrecgc.models import ClassifierTraining, EmbedderTraining, train_classifier, train_embedder
from comrecgc.run import only_writer_in, only_writer_of
from tests.cli.command import run
from tests.stubs import small_dataset
from tests.trust.conftest import names, one_line

HOLD = """
import sys, time
from pathlib import Path
from comrecgc.run import only_writer_in
with only_writer_in(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_two_runs_in_one_folder_are_refused_until_the_first_is_gone(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with holder(folder) as other:
        for more in ([], ["--resume"], ["--overwrite"]):
            assert run(monkeypatch, *options, "--out", folder, *more) == 2
            error = one_line(capsys.readouterr().err)
            assert error.startswith(f"error: {folder} is being written by process {other.pid}:")
        other.send_signal(signal.SIGKILL)
    assert names(folder) == {".lock"}  # it could not clear up
    (folder / ".explanation.json.0badcafe.part").write_text('{"form')
    assert run(monkeypatch, *options, "--out", folder) == 0
    assert not list(folder.glob(".*"))


def test_the_lock_is_free_again_and_gone_after_the_block(tmp_path: Path) -> None:
    for _ in range(2):
        with only_writer_in(tmp_path):
            with (
                pytest.raises(InputError, match=rf"is being written by process {os.getpid()}"),
                only_writer_in(tmp_path),
            ):
                pytest.fail("two writers")
            assert names(tmp_path) == {".lock"}
        assert names(tmp_path) == set()
    with pytest.raises(KeyError), only_writer_in(tmp_path):
        raise KeyError
    assert names(tmp_path) == set()


def test_only_the_parts_of_the_file_itself_are_removed(tmp_path: Path) -> None:
    for name in (".a.npz.00000000.part", ".b.npz.00000000.part", "a.npz"):
        (tmp_path / name).write_text("half")
    with only_writer_of(tmp_path / "a.npz"):
        assert names(tmp_path) == {".a.npz.lock", ".b.npz.00000000.part", "a.npz"}
        with only_writer_of(tmp_path / "b.npz"):
            assert names(tmp_path) == {".a.npz.lock", ".b.npz.lock", "a.npz"}
    assert names(tmp_path) == {"a.npz"}


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match=r"Cannot write .*\.lock"), only_writer_in(tmp_path / "run"):
        pytest.fail("followed")
    assert (tmp_path / "outside").read_text() == "precious"


def test_two_trainings_of_one_file_are_refused(tmp_path: Path) -> None:
    dataset, out = small_dataset(), tmp_path / "model.safetensors"
    with only_writer_of(out):
        with pytest.raises(InputError, match=r"model\.safetensors is being written by process"):
            train_classifier(dataset, ClassifierTraining(epochs=1), out=out)
        with pytest.raises(InputError, match=r"model\.safetensors is being written by process"):
            train_embedder(dataset.graphs, 3, EmbedderTraining(effort=0.001), out=out)
    for name in ("model.json", "model.safetensors"):
        (tmp_path / f".{name}.00c0ffee.part").write_text("left by a killed one")
    train_classifier(dataset, ClassifierTraining(epochs=1), out=out)
    assert names(tmp_path) == {"model.safetensors", "model.json"}
    (tmp_path / ".model.json.00c0ffee.part").write_text("left by a killed one")
    train_embedder(dataset.graphs, 3, EmbedderTraining(effort=0.001), out=out)
    assert names(tmp_path) == {"model.safetensors", "model.json"}


def test_who_waits_gets_the_lock_when_its_holder_dies(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        waiting = subprocess.Popen(
            [sys.executable, "-c", HOLD.replace("only_writer_in(Path(sys.argv[1]))", WAIT), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        other.kill()
    with waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "held\n"
        waiting.kill()


WAIT = "__import__('comrecgc.run.files').run.files._locked(Path(sys.argv[1]) / '.lock', Path(), wait=True)"
