"""Explanations in notebooks: tables with pictures, as HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from comrecgc.drawing import STYLE, Pen, draw_rule
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Scene
from comrecgc.graphs import Change

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation


_SHOWN = 10
_DRAWN_NODES = 40  # larger graphs are too wide for a cell


def explanation_html(explanation: Explanation) -> str:
    """The first recourses of an explanation, each with its picture."""
    are_rules = explanation.recourse == "rules"
    names = ["", "what to change", *(("works for", "unseen") if are_rules else ("edits",)), "adds", "covered so far"]
    rows = []
    shares = explanation.coverage_curve
    for place, recourse in enumerate(explanation.recourses[:_SHOWN]):
        known = recourse.statistics or {}
        held_out = known.get("held_out")
        unseen = _number(held_out, "success") if isinstance(held_out, Mapping) else None
        figures = (
            [works_words(known), "–" if unseen is None else f"{unseen:.0%}"]
            if are_rules
            else ["–" if recourse.median_edits is None else f"{recourse.median_edits:g}"]
        )
        cells = [str(place + 1), None, *figures, str(recourse.gain), f"{shares[place]:.1%}"]
        words = f"{escape(recourse.summary)}<br>{picture_of(recourse)}"
        rows.append("".join(f"<td>{words if cell is None else escape(cell)}</td>" for cell in cells))
    left_out = len(explanation.recourses) - len(rows)
    what = "rules" if are_rules else "common recourses"
    return (
        f"<style>{STYLE}</style><p><b>{escape(explanation.dataset)}</b>: {len(explanation.recourses)} {what} cover "
        f"{explanation.coverage:.1%} of {len(explanation.inputs)} inputs</p><table><thead><tr>"
        + "".join(f"<th>{name}</th>" for name in names)
        + "</tr></thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table>"
        + (f"<p>… and {left_out} more</p>" if left_out else "")
    )


def recourse_html(recourse: CommonRecourse) -> str:
    """One recourse: its sentence, picture and figures, and the smallest input that it covers before and after."""
    known = recourse.statistics or {}
    works = f"<p>Works for {escape(works_words(known))}</p>" if recourse.rule is not None else ""
    example = smallest(recourse)
    drawn = picture_of(recourse) if recourse.rule is not None else ""
    return (
        f"<style>{STYLE}</style><p><b>{escape(recourse.summary)}</b></p>{drawn}<p>{escape(recourse.description)}</p>{works}"
        + ("" if example is None or recourse.scene is None else example_html(example, recourse.scene))
    )


def works_words(known: Mapping[str, Any]) -> str:
    """How often a rule works, with the interval of its success."""
    accepted, applicable, success = (_number(known, name) for name in ("accepted", "applicable", "success"))
    if accepted is None or applicable is None or success is None:
        return "–"
    interval = known.get("interval")
    between = ""
    if isinstance(interval, list) and len(interval) == 2 and all(isinstance(end, int | float) for end in interval):
        between = f" ({100 * interval[0]:.0f}–{interval[1]:.0%})"
    return f"{accepted:.0f} of {applicable:.0f}, {success:.0%}{between}"


def picture_of(recourse: CommonRecourse) -> str:
    """A rule, or the smallest input that a vector covers, before and after; nothing where there is neither."""
    scene = recourse.scene
    if scene is None:
        return ""
    if recourse.rule is not None:
        return draw_rule(
            recourse.rule, scene.label_names, edge_label_names=scene.edge_label_names,
            is_molecular=scene.is_molecular, title=recourse.summary,
        )  # fmt: skip
    example = smallest(recourse)
    return "" if example is None else example_html(example, scene)


def smallest(recourse: CommonRecourse) -> CoveredInput | None:
    """The smallest input that a recourse covers, if it is small enough to be drawn."""
    scene = recourse.scene
    if scene is None or not recourse.covered:
        return None
    member = min(recourse.covered, key=lambda member: (scene.inputs[member.input].graph.size, member.input))
    return member if scene.inputs[member.input].graph.num_nodes <= _DRAWN_NODES else None


def example_html(member: CoveredInput, scene: Scene) -> str:
    """An input before and after."""
    pen = Pen(scene.label_names, scene.edge_label_names, scene.is_molecular)
    graph = scene.inputs[member.input].graph
    title = f"Input {member.input}"
    change = Change.between(graph, member.counterfactual) if member.site else Change.along(graph, member.edits)
    drawn = pen.draw_change(change, title)
    return f"<div>{drawn.before} → {drawn.after}</div><p>{title}: {escape(scene.class_names[1])} {member.probability:.0%}</p>"


def _number(values: Mapping[str, Any], name: str) -> float | None:
    """A figure, if it is there and is one: files may hold anything."""
    value = values.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
