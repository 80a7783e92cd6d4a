"""One self-contained HTML page of an explanation: headline, curve, table, drawings, map, what is not covered."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

import comrecgc
from comrecgc.drawing import STYLE
from comrecgc.evidence import Evidence
from comrecgc.explanation import Explanation
from comrecgc.report.evidence_view import evidence_section, evidence_style
from comrecgc.report.explorer import packed_table, rule_chooser
from comrecgc.report.rule_views import frontier, rule_warnings, rung_sentence, thing_of
from comrecgc.report.views import clipped, covered_extent, figures, recourse_views, tables, uncovered_views
from comrecgc.run import write_text

if TYPE_CHECKING:
    from jinja2 import Template


LIVE = ("elements", "table", "choice", "graphs", "drawing", "rule_drawing", "wishes", "rules", "others", "page")
"""Parts of the script in `live/`, each using those before it."""

VERBS = ("remove", "relabel", "add", "cut", "join")


def write_report(explanation: Explanation, path: str | Path, evidence: Evidence | None = None) -> None:
    """Write the report of an explanation.

    Args:
        explanation: What was found.
        path: The HTML file to write, or the run folder that shall hold `report.html`.
        evidence: Reasons to believe it or not; without it the report says how to get some.
    """
    path = Path(path)
    write_text(path / "report.html" if path.is_dir() else path, render_report(explanation, evidence))


def render_report(explanation: Explanation, evidence: Evidence | None = None) -> str:
    """The report as HTML: one file, no network, and no script or style but its own may run in it."""
    chooser = rule_chooser(explanation)
    style = STYLE + part("page.css") + evidence_style()
    script = part("page.js") if chooser is None else live_script()
    recourses = recourse_views(explanation)
    uncovered = uncovered_views(explanation)
    is_rules = explanation.recourse == "rules"
    num_covered = sum(recourse.gain for recourse in explanation.recourses)
    num_inputs = len(explanation.inputs)
    return template("template.html").render(
        dataset=clipped(explanation.dataset),
        reject=_class_word(explanation.class_names[0]),
        accept=_class_word(explanation.class_names[1]),
        coverage=f"{explanation.coverage:.1%}",
        num_inputs=num_inputs,
        num_covered=num_covered,
        num_uncovered=num_inputs - num_covered,
        share_uncovered=f"{1 - explanation.coverage:.1%}",
        figures=figures(explanation),
        is_rules=is_rules,
        is_molecular=explanation.is_molecular,
        noun="rule" if is_rules else "recourse",
        thing=thing_of(explanation),
        rung=rung_sentence(explanation),
        frontier=frontier(explanation) if is_rules else [],
        has_panel=any(view.row.get("confirmed", "–") != "–" for view in recourses),
        has_unseen=any(view.row.get("unseen", "–") != "–" for view in recourses),
        warnings=[*explanation.warnings, *(rule_warnings(explanation) if is_rules else ())],
        notes=explanation.notes,
        verbs=VERBS,
        placeholder=f"{'nitro, ' if explanation.is_molecular else ''}{'add' if is_rules else 'relabel'}, 212",
        recourses=[view.row for view in recourses],
        has_validity=any(recourse.share_valid is not None for recourse in explanation.recourses),
        has_short_names=not explanation.is_molecular and len(explanation.label_names) > 1,
        uncovered=[view.group for view in uncovered],
        tables=tables(explanation),
        evidence=evidence_section(evidence),
        num_rules=0 if chooser is None else len(chooser.mined.table),
        packed=None if chooser is None else packed_table(explanation, chooser, evidence),
        version=comrecgc.__version__,
        style=Markup(style),  # ours, and it must stay as it was hashed
        script=Markup(script),
        style_hash=csp_hash(style),
        script_hash=csp_hash(script),
        data=_json_for_html(
            {
                "noun": "rule" if is_rules else "recourse",
                "curve": [round(share, 6) for share in explanation.coverage_curve],
                "extent": covered_extent(explanation),
                "recourses": [view.data for view in recourses],
                "uncovered": [view.cards for view in uncovered],
            }
        ),
    )


def template(name: str) -> Template:
    """A template that escapes what it is given and misses nothing silently."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(part)).get_template(name)


def live_script() -> str:
    """The script of a page to choose with: its parts, as one function that leaves no names behind."""
    parts = "\n".join(part(f"live/{name}.js") for name in LIVE)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def part(name: str) -> str:
    """A file of the page."""
    return (files("comrecgc.report") / name).read_text(encoding="utf-8")


def _class_word(name: str) -> str:
    return {"reject": "rejected", "accept": "accepted"}.get(name, clipped(name))


def csp_hash(text: str) -> str:
    """What a content security policy calls a text that may run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_for_html(value: Any) -> Markup:
    """JSON that cannot end its script element or be read as markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in _UNSAFE:
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)


_UNSAFE: Iterable[str] = "<>&\u2028\u2029"
