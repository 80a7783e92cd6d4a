"""A comparison of runs as one HTML page, and as a table for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

from markupsafe import Markup

import comrecgc
from comrecgc.drawing import STYLE, draw_rule
from comrecgc.report.comparison import ComparedRecourse, Comparison, Standing, standing_words
from comrecgc.report.page import csp_hash, part, template
from comrecgc.report.rule_views import thing_of


def render_comparison(comparison: Comparison) -> str:
    """A comparison as HTML: one file, no network, no script."""
    style = STYLE + part("page.css")
    names = comparison.names
    first = comparison.runs[0].explanation
    whole = [one for one in comparison.recourses if all(one.holds)]
    groups = [
        {"name": f"Hold for {'both' if len(names) == 2 else 'all'}", "rows": [_row(comparison, one) for one in whole]}
    ]
    verdicts = dict.fromkeys(one.verdict(names).partition(";")[0] for one in comparison.recourses if not all(one.holds))
    groups += [
        {
            "name": f"{verdict[:1].upper()}{verdict[1:]}",
            "rows": [
                _row(comparison, one)
                for one in comparison.recourses
                if not all(one.holds) and one.verdict(names).partition(";")[0] == verdict
            ],
        }
        for verdict in verdicts
    ]
    return template("comparison.html").render(
        names=names,
        dataset=first.dataset,
        thing=thing_of(first),
        runs=[
            {
                "name": run.name, "coverage": f"{it.coverage:.1%}", "num_inputs": len(it.inputs), "num": len(it.recourses),
                "kind": it.recourse, "changes": it.changes,
            }
            for run in comparison.runs
            for it in (run.explanation,)
        ],
        sentences=comparison.sentences(),
        num_all=len(whole),
        noun="rules" if all(run.explanation.recourse == "rules" for run in comparison.runs) else "recourses",
        recourses=comparison.recourses,
        groups=groups,
        version=comrecgc.__version__,
        style=Markup(style),  # ours, and it must stay as it was hashed
        style_hash=csp_hash(style),
    )  # fmt: skip


def _row(comparison: Comparison, one: ComparedRecourse) -> dict[str, Any]:
    explanation, rule = comparison.runs[0].explanation, one.recourse.rule
    picture = None if rule is None else draw_rule(
        rule, explanation.label_names, edge_label_names=explanation.edge_label_names,
        is_molecular=explanation.is_molecular, title=f"Before and after: {one.recourse.summary}",
    )  # fmt: skip
    return {
        "summary": one.recourse.summary,
        "picture": None if picture is None else Markup(picture),  # ours, names in it are escaped
        "cells": [_cell(standing) for standing in one.standings],
    }


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
