"""What the page shows of an explanation, as plain values ready for the template."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from comrecgc.cover import Reason
from comrecgc.drawing import Pen, Picture, draw_rule
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation
from comrecgc.graphs import Change
from comrecgc.report.rule_views import REASONS, badges, rule_facts, rule_figures, rule_kinds, rule_row, thing_of
from comrecgc.wording import describe_path, edit_pattern, representatives

_EXAMPLES = 4
_DRAWN_UNCOVERED = 24  # per reason
_LONGEST_NAME = 60
_NARROW = 230  # two such pictures and an arrow fit in half the page
_MAP_SIDE = 1000
_INTERNAL = ("ladder", "rules.npz")  # in the manifest for programs
_LONGEST_VALUE = 120

_ADVICE = {
    Reason.NO_COUNTERFACTUAL: "The search met no accepted graph close enough to these inputs. A larger theta, a longer "
    "search or a looser constraint may find one.",
    Reason.NO_RECOURSE_NEAR: "Accepted graphs close to these inputs are known, but reaching them takes a change that no "
    "chosen recourse shares, nor would as many recourses again. A larger delta may cover them.",
    Reason.BUDGET_EXHAUSTED: "As many recourses again would cover these inputs.",
    Reason.OUT_OF_TIME: "Time was up before an accepted graph close to these inputs was found. A larger time budget may find one.",
}
_REASONS = {reason: (reason.value.capitalize(), advice) for reason, advice in _ADVICE.items()}


@dataclass(frozen=True)
class RecourseView:
    """A recourse on the page: its row in the table, and what the page's script needs to open it."""

    row: dict[str, Any]
    data: dict[str, Any]


@dataclass(frozen=True)
class UncoveredView:
    """The inputs not covered for one reason: the group on the page, and the drawings in it."""

    group: dict[str, Any]
    cards: list[dict[str, str]]


def recourse_views(explanation: Explanation) -> list[RecourseView]:
    """Every recourse, in order of selection."""
    pen = _pen(explanation)
    largest = max((recourse.gain for recourse in explanation.recourses), default=1) or 1
    scale = _MapScale(explanation)
    return [
        RecourseView(
            row={
                "summary": recourse.summary,
                "gain": recourse.gain,
                "bar": round(100 * recourse.gain / largest, 1),
                "coverage": f"{coverage:.1%}",
                "norm": "–" if recourse.norm is None else f"{recourse.norm:.3g}",
                "edits": "–" if recourse.median_edits is None else f"{recourse.median_edits:g}",
                "valid": "–" if recourse.share_valid is None else f"{recourse.share_valid:.0%}",
                **(rule_cells(explanation, recourse) if recourse.rule else {}),
            },
            data=_rule_data(explanation, recourse, pen)
            if recourse.rule
            else _recourse_data(explanation, recourse, pen, scale),
        )
        for recourse, coverage in zip(explanation.recourses, explanation.coverage_curve, strict=True)
    ]


def _recourse_data(explanation: Explanation, recourse: CommonRecourse, pen: Pen, scale: _MapScale) -> dict[str, Any]:
    patterns = [
        edit_pattern(
            explanation.inputs[member.input].graph,
            member.edits,
            explanation.schema,
        )
        for member in recourse.covered
    ]
    sizes = [explanation.inputs[member.input].graph.size for member in recourse.covered]
    chosen = representatives([pattern.text for pattern in patterns], sizes, _EXAMPLES)
    return {
        "summary": recourse.summary,
        "description": recourse.description,
        "text": f"{recourse.summary} {recourse.description}".lower(),
        "kinds": sorted({step.split(" ", maxsplit=1)[0] for pattern in patterns for step in pattern.steps}),
        "examples": [_example(explanation, recourse.covered[place], patterns[place].text, pen) for place in chosen],
        "reach": f"All {recourse.gain} inputs it adds"
        + (f"; it also covers {len(recourse.also_covers)} of those before" if recourse.also_covers else ""),
        "inputs": [member.input for member in recourse.covered],
        "points": [scale(member) for member in recourse.covered],
    }


def rule_picture(explanation: Explanation, recourse: CommonRecourse) -> Markup | None:
    """A rule before and after, as SVG; None for a vector."""
    if recourse.rule is None:
        return None
    picture = draw_rule(
        recourse.rule,
        explanation.schema,
        title=f"Before and after: {recourse.summary}",
    )
    return Markup(picture)  # names in it are escaped


def rule_cells(explanation: Explanation, recourse: CommonRecourse) -> dict[str, Any]:
    """What the row of a rule shows besides its words."""
    return {"picture": rule_picture(explanation, recourse), "badges": badges(recourse), **rule_row(recourse)}


def _rule_data(explanation: Explanation, recourse: CommonRecourse, pen: Pen) -> dict[str, Any]:
    assert recourse.rule is not None
    thing = thing_of(explanation)
    by_size = sorted(recourse.covered, key=lambda member: (explanation.inputs[member.input].graph.size, member.input))
    step = max(1, len(by_size) // (2 * _EXAMPLES))  # from the smaller half, which is easier to read
    return {
        "summary": recourse.summary,
        "description": recourse.description,
        "text": f"{recourse.summary} {recourse.description}".lower(),
        "kinds": rule_kinds(recourse.rule),
        "facts": rule_facts(recourse, f"{thing}s", explanation.schema.class_names),
        "smirks": recourse.smirks or "",
        "examples": [_example(explanation, member, "", pen) for member in by_size[::step][:_EXAMPLES]],
        "reach": f"The {_counted(recourse.gain, thing)} that it covers and no rule before it does",
        "also_reach": f"It also covers {_counted(len(recourse.also_covers), thing)} that a rule before it covers",
        "inputs": [member.input for member in recourse.covered],
        "also": list(recourse.also_covers),
        "points": [],
    }


def _example(explanation: Explanation, member: CoveredInput, pattern: str, pen: Pen) -> dict[str, Any]:
    graph = explanation.inputs[member.input].graph
    title = f"Input {member.input}"
    picture: Picture = (
        pen.draw_change(Change.between(graph, member.counterfactual), title)
        if member.site  # of a rule, whose counterfactual has edge labels too
        else pen.draw(graph, member.edits, title)
    )
    edits = f"{member.num_edits} edit" + ("" if member.num_edits == 1 else "s")
    words = (
        f"{input_words(explanation, member.input)}: {_probability(explanation, member.input)} → {1 - member.probability:.0%}, "
        f"{edits}, distance {member.distance:.3f}"
    )
    if picture.num_hidden:
        words += f". {picture.num_hidden} nodes far from the change are not drawn"
    return {
        "before": picture.before,
        "after": picture.after,
        "wide": picture.width > _NARROW,
        "pattern": pattern,
        "words": words,
        "steps": describe_path(graph, member.edits, [clipped(name) for name in explanation.schema.label_names]),
    }


def _probability(explanation: Explanation, index: int) -> str:
    """How sure the model is of the class that it gives an input."""
    return f"P({clipped(explanation.schema.class_names[0])}) {explanation.inputs[index].reject_probability:.0%}"


def input_words(explanation: Explanation, index: int) -> str:
    """An input by its number, and by its name where the data has names."""
    name = explanation.inputs[index].name
    return f"Input {index} ({clipped(name)})" if name else f"Input {index}"


def uncovered_views(explanation: Explanation) -> list[UncoveredView]:
    """The inputs not covered, by reason; the smallest of each are drawn."""
    pen = _pen(explanation)
    words = REASONS if explanation.recourse == "rules" else _REASONS
    views = []
    for reason in Reason:
        indices = [entry.input for entry in explanation.uncovered if entry.reason == reason]
        if indices:
            name, advice = words.get(reason, (reason.value.capitalize(), ""))
            group = {
                "reason": name,
                "advice": advice,
                "num": len(indices),
                "indices": ", ".join(map(str, indices)),
            }
            smallest = sorted(indices, key=lambda index: (explanation.inputs[index].graph.size, index))
            cards = [_card(explanation, index, pen) for index in smallest[:_DRAWN_UNCOVERED]]
            views.append(UncoveredView(group, cards))
    return views


def _card(explanation: Explanation, index: int, pen: Pen) -> dict[str, str]:
    rejected = explanation.inputs[index]
    words = f"{input_words(explanation, index)}, {_probability(explanation, index)}"
    return {"svg": pen.draw(rejected.graph, (), f"Input {index}").before, "words": words}


def figures(explanation: Explanation) -> list[dict[str, str]]:
    """The headline figures."""
    if explanation.recourse == "rules":
        return [_figure(name, value, hint, id_) for id_, name, value, hint in rule_figures(explanation)]
    metrics, facts = explanation.metrics, explanation.facts
    shown = [_figure("Covered", f"{explanation.coverage:.1%}", f"of {len(explanation.inputs)} rejected graphs")]
    if metrics.get("directional_coverage") is not None:
        share = f"{metrics['directional_coverage']:.1%}"
        shown.append(_figure("Directional", share, "covered by recourses that exclude “change nothing”"))
    if metrics.get("trivial_coverage") is not None:
        shown.append(_figure("Trivial", f"{metrics['trivial_coverage']:.1%}", "covered by “change nothing” alone"))
    edits = [member.num_edits for recourse in explanation.recourses for member in recourse.covered]
    if edits:
        shown.append(_figure("Edits", f"{statistics.median(edits):g}", "true edit count, median over covered graphs"))
    if metrics.get("cost") is not None:
        shown.append(_figure("Cost", f"{metrics['cost']:.3g}", "smallest length that covers each input, summed"))
    if facts.model_accuracy is not None:
        shown.append(_figure("Model accuracy", f"{facts.model_accuracy:.1%}", "on the whole dataset"))
    return shown


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _figure(name: str, value: str, hint: str, id_: str = "") -> dict[str, str]:
    return {"id": id_, "name": name, "value": value, "hint": hint}


def tables(explanation: Explanation) -> list[dict[str, Any]]:
    """What is needed to repeat the run, and every figure."""
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


def covered_extent(explanation: Explanation) -> list[int]:
    """Width and height of the map."""
    return _MapScale(explanation).extent


class _MapScale:
    """Map positions as small whole numbers, aspect kept."""

    def __init__(self, explanation: Explanation) -> None:
        points = [member.position for recourse in explanation.recourses for member in recourse.covered] or [(0.0, 0.0)]
        xs, ys = zip(*points, strict=True)
        self._left, self._top = min(xs), max(ys)
        width, height = max(xs) - min(xs), max(ys) - min(ys)
        self._factor = _MAP_SIDE / (max(width, height) or 1.0)
        self.extent = [max(1, round(side * self._factor)) for side in (width, height)]

    def __call__(self, member: CoveredInput) -> list[int]:
        x, y = member.position
        return [round((x - self._left) * self._factor), round((self._top - y) * self._factor)]


def _pen(explanation: Explanation) -> Pen:
    return Pen(explanation.schema)


def clipped(name: str) -> str:
    """A name short enough for a line."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _rows(values: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Names and values; what is in an object within gets the object's name before its own."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += _rows(value, f"{above}{name}: ")
        else:
            rows.append((f"{above}{name}", _value(value)))
    return rows


def _value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return str(value.get("path", "…"))  # of a file
    text = (
        ", ".join(_value(item) for item in value)
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
