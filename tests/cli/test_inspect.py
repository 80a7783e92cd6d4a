"""`choose` on a finished run: other wishes, no search, one line for what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from comrecgc.algorithms.registry import Rules
from comrecgc.data import load_dataset
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import load_explanation
from comrecgc.run import RunContext
from tests.cli.command import run
from tests.stubs import AvoidsLabel


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by rules on some of the planted molecules."""
    dataset = load_dataset("planted")[:60]
    nitrogen = dataset.label_names.index("N")
    model = AvoidsLabel(nitrogen, dataset.num_labels)
    made = CommonRecourseExplainer(model, Rules(max_changes=1), panel=False, theta=0.3, context=RunContext(jobs=1)).fit(
        dataset
    )
    folder = tmp_path_factory.mktemp("rules") / "run"
    made.explanation_.save(folder)
    return folder


def test_another_choice_goes_to_another_folder(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "choose", rules, "--recourses", 2, "--out", tmp_path / "two") == 0
    chosen = load_explanation(tmp_path / "two")
    assert len(chosen.recourses) == 2
    assert 0 < chosen.coverage <= load_explanation(rules).coverage
    assert (tmp_path / "two" / "report.html").exists()


def test_groups_are_forbidden_by_name(
    rules: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = load_explanation(rules)
    offers = [recourse.summary for recourse in whole.recourses if " by " in recourse.summary.rpartition(" (")[0]]
    made = offers[0].rsplit(" by ", 1)[1]
    without = whole.choose(forbidden_groups=[made])
    assert without.recourses
    assert all(not recourse.summary.endswith(f" by {made}") for recourse in without.recourses)
    assert run(monkeypatch, "choose", rules, "--forbid-group", made) == 0
    assert offers[0] not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--forbid-group", "unobtainium"], "A group must be one"),
        (["--forbid-label", "Xx"], "Node labels are"),
        (["--forbid-kind", "explode"], "Kinds of change are"),
        (["--min-success", 2], "min_success must be a number at"),
        (["--confirmed"], "confirmed needs a panel"),
    ],
)
def test_wishes_that_cannot_be_are_one_line(
    rules: Path,
    options: list[object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "choose", rules, *options) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
