"""The section "Can I trust this?" of the report: a verdict on each recourse, and what the same says of classifiers that know nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from comrecgc.evidence import Answer, ControlEvidence, Evidence, ModelSummary, RecourseEvidence

COMMAND = "comrecgc evaluate DIR --evidence"

_SHOWN = 100
_COLUMNS = {
    "coverage": ("Covered", "Share of rejects that the recourses turn"),
    "confirmed_coverage": ("Panel accepts", "Share of rejects whose counterfactual most of the panel accept"),
    "second_panel_coverage": ("Second panel accepts", "The same for a panel that took no part in the choice"),
    "turned_in_other_models": (
        "Turned elsewhere",
        "Of the inputs that another model rejects too, the share whose counterfactual it accepts; mean over models and recourses",
    ),
    "strong_coverage": ("Covered by strong ones", "Share of rejects that recourses with a strong verdict turn"),
    "backed_coverage": (
        "By strong or mixed ones",
        "Share of rejects that recourses with a strong or mixed verdict turn",
    ),
}
_MEANINGS = {
    "random changes": "changes of the same kinds, made blindly",
    "random weights": "the same network, never trained",
    "shuffled labels": "trained on labels dealt out at random",
}


def evidence_style() -> str:
    """Style of the section."""
    return (files("comrecgc.report") / "evidence.css").read_text(encoding="utf-8")


def evidence_section(evidence: Evidence | None) -> Markup:
    """The section as HTML; without evidence it says how to get it."""
    from jinja2 import Environment, StrictUndefined

    text = (files("comrecgc.report") / "evidence.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
    if evidence is None:
        return Markup(template.render(known=False, command=COMMAND))
    html = template.render(
        known=True,
        sentence=evidence.sentence,
        standing={True: "stands", False: "falls", None: ""}[evidence.better_than_ignorance],
        glance=_glance(evidence),
        models=[
            _summary(row)
            for row in (*evidence.models, *evidence.architectures)
            if row.models > 1 or row in evidence.models
        ],
        noun="rule" if evidence.recourse == "rules" else "recourse",
        rows=[_row(recourse) for recourse in evidence.recourses[:_SHOWN]],
        num_hidden=max(0, len(evidence.recourses) - _SHOWN),
        columns=list(_COLUMNS.values()),
        controls=[_control(control) for control in evidence.controls],
        has_controls=len(evidence.controls) > 1,
        notes=evidence.notes,
    )
    return Markup(html)  # autoescaped above


def _glance(evidence: Evidence) -> list[tuple[str, str]]:
    """The whole explanation in a few figures."""
    figures, own = evidence.figures, evidence.controls[0].figures if evidence.controls else {}
    unseen = [
        f"{share:.0%} covered{words}"
        for split, words in (("random", ""), ("scaffold", ", with whole scaffolds left out"))
        if (share := figures.get(f"held_out_coverage_{split}")) is not None
    ]
    said, against = int(own.get("pairs_as_said") or 0), int(own.get("pairs_against") or 0)
    like = [
        f"{share:.0%} {words}"
        for name, words in (
            ("share_plausible", "plausible"),
            ("share_typical", "as near to a real accepted graph as nine in ten real ones"),
            ("share_minimal", "with no edit to spare"),
        )
        if (share := figures.get(name)) is not None
    ]
    turned = own.get("turned_in_other_models")
    rows = [
        ("On unseen graphs", "; ".join(unseen)),
        ("In other models", "" if turned is None else f"{turned:.0%} of the inputs they reject too are turned"),
        (
            "Pairs of real graphs",
            f"{said} of {said + against} change their label as said" if said + against else "none test these changes",
        ),
        ("Counterfactuals", "; ".join(like)),
    ]
    return [(name, value) for name, value in rows if value]


def _summary(model: ModelSummary) -> dict[str, str | int]:
    return {
        "name": model.name if model.models == 1 else f"all {model.models} {model.name}",
        "chosen_with": "yes" if model.chosen_with else "no",
        "works": f"{model.works} of {model.asked}",
        "rejects": model.rejects,
        "turned": f"{model.turned / model.rejects:.0%}" if model.rejects else "–",
    }


def _row(recourse: RecourseEvidence) -> dict[str, Any]:
    return {
        "summary": recourse.summary,
        "level": recourse.verdict.level,
        "shortcut": recourse.verdict.shortcut,
        "findings": recourse.verdict.findings,
        "models": [_model(answer) for answer in recourse.answers],
    }


def _model(answer: Answer) -> dict[str, str]:
    state = {True: "works", False: "fails", None: "unsure"}[answer.works]
    turned = f"{answer.turned} of {answer.rejects} inputs it rejects too are turned"
    chosen = "; it took part in the choice" if answer.chosen_with else ""
    return {"state": state, "title": f"{answer.member}: {turned}{chosen}"}


def _control(control: ControlEvidence) -> dict[str, Any]:
    figures = control.figures
    shares = [figures.get(name) for name in _COLUMNS]
    said, against = figures.get("pairs_as_said"), figures.get("pairs_against")
    levels = [figures.get(level) for level in ("strong", "mixed", "weak")]
    return {
        "name": control.name,
        "meaning": _MEANINGS.get(control.name, ""),
        "cells": ["–" if share is None else f"{share:.1%}" for share in shares],
        "pairs": "–"
        if said is None or against is None
        else f"{said} of {said + against}"
        if said + against
        else "none",
        "levels": "–" if None in levels else " / ".join(str(level) for level in levels),
    }
