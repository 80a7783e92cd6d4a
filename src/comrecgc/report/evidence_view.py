"""The section "Can I trust this?" of the report: a verdict on each recourse, and what the same says of classifiers that know nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from comrecgc.evidence import Answer, ControlEvidence, Evidence, RecourseEvidence

COMMAND = "comrecgc evaluate DIR --evidence"

_SHOWN = 100
_COLUMNS = {
    "coverage": ("Covered", "Share of rejects that the recourses turn"),
    "confirmed_coverage": ("Panel agrees", "Share of rejects whose counterfactual most of the panel accept"),
    "second_panel_coverage": ("Second panel", "The same for a panel that took no part in the choice"),
    "turned_in_other_models": (
        "Turned elsewhere",
        "Of the inputs that another model rejects too, the share whose counterfactual it accepts; mean over models and recourses",
    ),
    "strong_coverage": ("By strong ones", "Share of rejects that recourses with a strong verdict turn"),
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
        noun="rule" if evidence.recourse == "rules" else "recourse",
        rows=[_row(recourse) for recourse in evidence.recourses[:_SHOWN]],
        num_hidden=max(0, len(evidence.recourses) - _SHOWN),
        columns=list(_COLUMNS.values()),
        controls=[_control(control) for control in evidence.controls],
        has_controls=len(evidence.controls) > 1,
        notes=evidence.notes,
    )
    return Markup(html)  # autoescaped above


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
        "cells": ["–" if share is None else f"{share:.1%}" for share in shares],
        "pairs": "–" if said is None or against is None else f"{said} of {said + against}",
        "levels": "–" if None in levels else " / ".join(str(level) for level in levels),
    }
