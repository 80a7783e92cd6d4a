from __future__ import annotations

import json
from pathlib import Path

import pytest

from comrecgc import __version__
from tests.cli.command import run


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.strip() == f"comrecgc {__version__}"
    commands: tuple[list[str], ...] = (
        [],
        ["demo"],
        ["explain"],
        ["apply"],
        ["evaluate"],
        ["report"],
        ["train"],
        ["train", "classifier"],
    )
    for command in (*commands, ["train", "embedder"]):
        assert run(monkeypatch, *command, "--help") == 0
        assert "Usage" in capsys.readouterr().out


def test_train_classifier_writes_weights_and_facts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "models" / "planted.safetensors"
    arguments = ("train", "classifier", "--dataset", "planted", "--model", "gin", "--epochs", "3", "--out", str(out))
    assert run(monkeypatch, *arguments) == 0
    printed = capsys.readouterr().out
    assert "planted gin: accuracy train" in printed
    assert out.exists()
    facts = json.loads(out.with_suffix(".json").read_text())
    assert facts["architecture"] == "gin"
    assert facts["label_names"][0] == "C"


def test_train_embedder_writes_weights_and_held_out_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "greed.safetensors"
    arguments = ("train", "embedder", "--dataset", "planted", "--effort", "0.001", "--out", str(out))
    assert run(monkeypatch, *arguments) == 0
    assert "pairs not trained on: error" in capsys.readouterr().out
    assert set(json.loads(out.with_suffix(".json").read_text())["held_out"]) == {"far", "near", "chain"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "classifier", "--dataset", "mutagenicty"], "did you mean mutagenicity?"),
        (["train", "classifier", "--dataset", "nowhere/"], "A dataset is one of"),
        (["train", "embedder", "--dataset", "missing.csv"], "missing.csv"),
        (["train", "classifier", "--dataset", "planted", "--out", "weights.pt"], "must end in .safetensors"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("error: ")
    assert message in printed
    assert "\n" not in printed


def test_unwritable_output_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    arguments = (
        "train",
        "classifier",
        "--dataset",
        "planted",
        "--epochs",
        "1",
        "--out",
        str(tmp_path / "file" / "x.safetensors"),
    )
    assert run(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("error: Cannot write")


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("comrecgc.data.load_dataset", interrupt)
    assert run(monkeypatch, "train", "classifier", "--dataset", "planted") == 130
    assert "--resume" in capsys.readouterr().err
