"""Disks that are full or may not be written to: one line that names the file, exit code 2, and resuming works later."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from comrecgc.models import load_classifier
from tests.cli.command import run
from tests.trust.conftest import names, one_line

TRAIN = ("train", "classifier", "--dataset", "planted", "--epochs", "40")


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # Python ignores the signal and sees an error
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("no_pauses")
def test_a_run_whose_files_may_not_grow_goes_on_once_they_may(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *options, "--out", tmp_path / "whole") == 0
    size = (tmp_path / "whole" / "explanation.json").stat().st_size
    folder = tmp_path / "small"
    capsys.readouterr()
    with files_no_larger_than(size - 1):
        assert run(monkeypatch, *options, "--out", folder) == 2
    error = one_line(capsys.readouterr().err)
    assert error.startswith(f"error: Cannot write {folder}/")
    assert error.endswith(": File too large")
    assert "run.json" in names(folder)
    assert "manifest.json" not in names(folder)
    assert not list(folder.glob(".*"))
    assert run(monkeypatch, *options, "--out", folder, "--resume") == 0
    assert (folder / "explanation.json").read_bytes() == (tmp_path / "whole" / "explanation.json").read_bytes()


@pytest.mark.usefixtures("options")
def test_a_training_whose_files_may_not_grow_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *TRAIN, "--out", tmp_path / "whole.safetensors") == 0
    facts = (tmp_path / "whole.json").stat().st_size
    out = tmp_path / "small.safetensors"
    capsys.readouterr()
    with files_no_larger_than(100):
        assert run(monkeypatch, *TRAIN, "--out", out) == 2
    assert "small.json: File too large" in one_line(capsys.readouterr().err)
    assert not list(tmp_path.glob("small*"))
    weights = (tmp_path / "whole.safetensors").stat().st_size
    assert facts < weights
    with files_no_larger_than(weights - 1):
        assert run(monkeypatch, *TRAIN, "--out", out) == 2
    assert "File too large" in one_line(capsys.readouterr().err)
    assert run(monkeypatch, *TRAIN, "--out", out) == 0
    assert out.read_bytes() == (tmp_path / "whole.safetensors").read_bytes()
    load_classifier(out)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 48 kB, where this machine lets us mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.usefixtures("no_pauses")
def test_a_full_disk_is_one_line_and_the_run_goes_on_once_there_is_room(
    options: list[str],
    tiny_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tiny_disk / "run"
    assert run(monkeypatch, *options, "--out", folder) == 2
    error = one_line(capsys.readouterr().err)
    assert error.startswith(f"error: Cannot write {folder}")
    assert error.endswith("No space left on device")
    assert "run.json" in names(folder)
    assert not list(folder.glob(".*"))
    subprocess.run(["mount", "-o", "remount,size=8m", tiny_disk], check=True)
    assert run(monkeypatch, *options, "--out", folder, "--resume") == 0
    assert run(monkeypatch, *options, "--out", tmp_path / "whole") == 0
    assert (folder / "explanation.json").read_bytes() == (tmp_path / "whole" / "explanation.json").read_bytes()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written to: by its mode, or for root by its file system."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("root may write everywhere, and nothing can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_folder_that_may_not_be_written_to_is_named_before_any_work(
    options: list[str], read_only: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        [*options, "--out", read_only],
        [*options, "--out", read_only / "run"],
        [*TRAIN, "--out", read_only / "classifier.safetensors"],
        ["train", "embedder", "--dataset", "planted", "--out", read_only / "models" / "greed.safetensors"],
    ):
        assert run(monkeypatch, *arguments) == 2
        error = one_line(capsys.readouterr().err)
        assert error.startswith(f"error: Cannot write to {read_only}")
        assert error.endswith(("Read-only file system", "Permission denied"))


def test_a_library_that_finds_the_disk_full_is_one_line_too(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "kernels.nbi")

    monkeypatch.setattr("comrecgc.algorithms.vectors.candidates.search_candidates", full)
    assert run(monkeypatch, *options, "--out", tmp_path / "run") == 2
    assert one_line(capsys.readouterr().err) == "error: Cannot write kernels.nbi: No space left on device"
