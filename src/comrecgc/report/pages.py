"""The HTML pages: the report of an explanation, with the section "Can I trust this?", and the comparison of runs.

Each page is one file without network access: style, script and data are in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

import comrecgc
from comrecgc.data import PLANTED
from comrecgc.drawing import STYLE
from comrecgc.evidence import Answer, Evidence
from comrecgc.explanation import NUMBERS, Explanation
from comrecgc.report import views
from comrecgc.report.comparison import Comparison, Standing, standing_words
from comrecgc.report.explorer import loaded_chooser, packed_table
from comrecgc.run import write_text

if TYPE_CHECKING:
    from jinja2 import Template


# Parts of the script in `live/`, each using those before it.
LIVE = ("elements", "table", "choice", "graphs", "drawing", "rule_drawing", "wishes", "rules", "others", "page")

_UNSAFE = "<>&\u2028\u2029"  # characters that could end a script element or be read as markup

VERBS = ("remove", "relabel", "add", "cut", "join")

COMMAND = "comrecgc evaluate DIR --evidence"

_SHOWN = 100
_INTERNAL = ("ladder", "rules.npz")  # in the manifest for programs
_LONGEST_VALUE = 120
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


def write_report(explanation: Explanation, path: str | Path, evidence: Evidence | None = None) -> None:
    """Write the report of an explanation.

    Args:
        explanation: What was found.
        path: The HTML file to write, or the run folder that shall hold `report.html`.
        evidence: Evidence for and against the recourses; without it the report says how to gather some.
    """
    path = Path(path)
    write_text(path / "report.html" if path.is_dir() else path, render_report(explanation, evidence))


def render_report(explanation: Explanation, evidence: Evidence | None = None) -> str:
    """The report as HTML: one file that needs no network and allows only its own script and style."""
    chooser = loaded_chooser(explanation)
    recourses, uncovered = views.recourse_views(explanation), views.uncovered_views(explanation)
    schema, is_rules = explanation.schema, explanation.recourse == "rules"
    noun = "rule" if is_rules else "recourse"
    return _render(
        "template.html",
        script=_script("live/elements", "page") if chooser is None else live_script(),
        dataset=views.clipped(schema.dataset),
        is_synthetic=schema.dataset == PLANTED,
        has_goal=NUMBERS in explanation.facts.facts,
        reject=_class_word(schema.class_names[0]),
        accept=_class_word(schema.class_names[1]),
        coverage=f"{explanation.coverage:.1%}",
        share_uncovered=f"{1 - explanation.coverage:.1%}",
        num_inputs=len(explanation.inputs),
        num_covered=sum(recourse.gain for recourse in explanation.recourses),
        figures=views.figures(explanation),
        is_rules=is_rules,
        is_molecular=schema.is_molecular,
        noun=noun,
        thing=views.thing_of(explanation),
        rung=views.rung_sentence(explanation),
        least_truth=explanation.least_truth,
        frontier=views.frontier(explanation) if is_rules else [],
        agreement=views.agreement(explanation) if is_rules else "",
        columns=views.rule_columns(explanation) if is_rules else [],
        shortcuts=[views.rule_cells(explanation, it) for it in explanation.shortcuts],
        warnings=[*explanation.warnings, *(views.rule_warnings(explanation) if is_rules else ())],
        notes=explanation.notes,
        verbs=VERBS,
        recourses=[row for row, _ in recourses],
        has_validity=any(recourse.share_valid is not None for recourse in explanation.recourses),
        has_short_names=not schema.is_molecular and len(schema.label_names) > 1,
        uncovered=[group for group, _ in uncovered],
        tables=_tables(explanation),
        evidence=_evidence_section(evidence),
        num_rules=0 if chooser is None else len(chooser.mined.table),
        packed=None if chooser is None else packed_table(explanation, chooser, evidence),
        data=_json_for_html(
            {
                "noun": noun,
                "curve": [round(share, 6) for share in explanation.coverage_curve],
                "extent": views.covered_extent(explanation),
                "recourses": [data for _, data in recourses],
                "uncovered": [cards for _, cards in uncovered],
            }
        ),
    )


def _render(name: str, script: str = "", **values: Any) -> str:
    """A page from its template: one file, whose security policy allows only its own style and script."""
    style = STYLE + _part("page.css") + _part("evidence.css")
    return _template(name).render(
        version=comrecgc.__version__,
        style=Markup(style),  # part of the package, and it must stay as it was hashed
        script=Markup(script),
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        **values,
    )


def _template(name: str) -> Template:
    """A template that escapes its values and raises an error where one is missing."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_part)).get_template(name)


def live_script() -> str:
    """The script of the interactive page."""
    return _script(*(f"live/{name}" for name in LIVE))


def _script(*names: str) -> str:
    """Some parts as one script: a function that leaves no names behind."""
    parts = "\n".join(_part(f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _part(name: str) -> str:
    """A file of the page."""
    return (files("comrecgc.report") / name).read_text(encoding="utf-8")


def _class_word(name: str) -> str:
    return {"reject": "rejected", "accept": "accepted"}.get(name, views.clipped(name))


def _csp_hash(text: str) -> str:
    """Name of a text in a content security policy."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_for_html(value: Any) -> Markup:
    """JSON that cannot end its script element or be read as markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in _UNSAFE:
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)


def _tables(explanation: Explanation) -> list[dict[str, Any]]:
    """Tables with the parameters that repeat the run, and every figure."""
    facts = explanation.facts
    run: list[tuple[str, str]] = [("seed", "–" if facts.seed is None else str(facts.seed))]
    if facts.peak_memory is not None:
        run.append(("peak memory", f"{facts.peak_memory / 2**20:.0f} MiB"))
    run += _rows({name: value for name, value in facts.facts.items() if name not in _INTERNAL})
    return [
        {"name": "Parameters", "rows": _rows(explanation.parameters)},
        {"name": "Figures", "rows": _rows(explanation.metrics)},
        {"name": "Seconds", "rows": [(stage, f"{seconds:.1f}") for stage, seconds in facts.seconds.items()]},
        {"name": "Versions", "rows": list(facts.versions.items())},
        {"name": "Run", "rows": run},
    ]


def _rows(values: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Names and values; names in a nested object are prefixed with the object's name."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += _rows(value, f"{above}{name}: ")
        else:
            rows.append((f"{above}{name}", _value(value)))
    return rows


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return str(value.get("path", "…"))  # of a file
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    text = ", ".join(_value(item) for item in value) if is_list else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _evidence_section(evidence: Evidence | None) -> Markup:
    """The section as HTML; without evidence it says how to get it."""
    section = _template("evidence.html")
    if evidence is None:
        return Markup(section.render(known=False, command=COMMAND))
    html = section.render(
        known=True,
        sentence=evidence.sentence,
        standing={True: "stands", False: "falls", None: ""}[evidence.better_than_ignorance],
        glance=_glance(evidence),
        models=[row for row in (*evidence.models, *evidence.architectures) if row.models > 1 or row in evidence.models],
        noun="rule" if evidence.recourse == "rules" else "recourse",
        rows=[{"it": it, "models": [_model(answer) for answer in it.answers]} for it in evidence.recourses[:_SHOWN]],
        num_hidden=max(0, len(evidence.recourses) - _SHOWN),
        columns=_COLUMNS,
        controls=evidence.controls,
        meanings=_MEANINGS,
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
    pairs = f"{said} of {said + against} change their label as said" if said + against else "none test these changes"
    rows = {
        "On unseen graphs": "; ".join(unseen),
        "In other models": "" if turned is None else f"{turned:.0%} of the inputs they reject too are turned",
        "Pairs of real graphs": pairs,
        "Counterfactuals": "; ".join(like),
    }
    return [(name, value) for name, value in rows.items() if value]


def _model(answer: Answer) -> dict[str, str]:
    state = {True: "works", False: "fails", None: "unsure"}[answer.works]
    turned = f"{answer.turned} of {answer.rejects} inputs it rejects too are turned"
    chosen = "; it took part in the choice" if answer.chosen_with else ""
    return {"state": state, "title": f"{answer.member}: {turned}{chosen}"}


def render_comparison(comparison: Comparison) -> str:
    """A comparison as HTML: one file, no network, no script."""
    names, first = comparison.names, comparison.runs[0].explanation
    for_all = f"Hold for {'both' if len(names) == 2 else 'all'}"
    groups: dict[str, list[dict[str, Any]]] = {for_all: []}
    for one in comparison.recourses:
        verdict = one.verdict(names).partition(";")[0]
        name = for_all if all(one.holds) else f"{verdict[:1].upper()}{verdict[1:]}"
        picture, cells = views.rule_picture(first, one.recourse), [_cell(standing) for standing in one.standings]
        groups.setdefault(name, []).append({"summary": one.recourse.summary, "picture": picture, "cells": cells})
    return _render(
        "comparison.html",
        names=names,
        dataset=first.schema.dataset,
        thing=views.thing_of(first),
        runs=comparison.runs,
        sentences=comparison.sentences(),
        num_all=len(groups[for_all]),
        noun="rules" if all(run.explanation.recourse == "rules" for run in comparison.runs) else "recourses",
        recourses=comparison.recourses,
        groups=groups,
    )


def _cell(standing: Standing) -> dict[str, Any]:
    bar, words = None, "chosen" if standing.place else "not in its table" if standing.accepted == 0 else "–"
    if standing.success is not None and standing.interval is not None:
        low, high = standing.interval
        bar = [round(100 * value, 1) for value in (low, high - low, standing.success)]
        words = f"{standing.accepted} of {standing.applicable}, {standing.success:.0%}"
    nearest = ""
    if standing.nearest is not None and standing.place is None:
        nearest = f"its no. {standing.nearest} covers {standing.nearest_share:.0%} of the same graphs"
    return {"place": standing.place, "words": words, "bar": bar, "nearest": nearest}


def comparison_table(comparison: Comparison) -> str:
    """The table of a comparison as HTML, for notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in ("what to change", "for whom", *comparison.names))
    rows = [
        [one.recourse.summary, one.verdict(comparison.names), *map(standing_words, one.standings)]
        for one in comparison.recourses
    ]
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in comparison.sentences())
    return f"<ul>{said}</ul><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
