"""Contents of the report page as plain values for the template."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from comrecgc.cover import Reason
from comrecgc.drawing import Pen, draw_rule
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation, effect_words, position_words
from comrecgc.explanation import interval_in as _interval
from comrecgc.explanation import number_in as _number
from comrecgc.graphs import Change, Rule, ordered_edge
from comrecgc.wording import describe_path, edit_pattern, representatives

_RUNGS = {
    "any": "Any change counts here, whether or not its result makes sense.",
    "connected": "No change breaks a {thing} into more parts than it had.",
    "plausible": "All changes are plausible: every {node} that one touches ends up with neighbours that occur in the data",
    "confirmed": "All changes are confirmed: most of a panel of other models accept the result too. "
    "They are plausible besides: every {node} that one touches ends up with neighbours that occur in the data",
}
_CHEMISTRY = ", valences are right, and rdkit reads the result as a molecule"
_SAME = 5e-4
_PROPERTIES = (
    ("logp", "logP", 1, ""), ("tpsa", "polar surface", 0, " Å²"), ("weight", "weight", 0, ""),
    ("sa_score", "difficulty of synthesis (1 to 10)", 1, ""), ("qed", "drug-likeness (QED)", 2, ""),
)  # fmt: skip

REASONS = {
    Reason.NO_COUNTERFACTUAL: (
        "No change that was tried makes the model accept them",
        "No rule within theta turns these graphs. A larger theta, more changes in a rule or a lower rung may.",
    ),
    Reason.BUDGET_EXHAUSTED: (
        "Other rules would cover them",
        "Rules that turn these graphs are known, but the rules chosen cover more. Ask for more rules to include them.",
    ),
    Reason.NOT_BELIEVED: (
        "Rules make the model accept them, but other models do not believe the results",
        "These results do not count here. Lower the likelihood that a result must have to see them.",
    ),
    Reason.OUT_OF_TIME: ("Time was up before a rule was found", "A larger time budget may find one."),
    Reason.NOWHERE: ("No rule can be carried out", "None of these graphs has a place that a rule changes."),
    Reason.TOO_FAR: (
        "A rule can be carried out, but changes too much",
        "These graphs are so small that the change is a larger share of them than theta allows.",
    ),
    Reason.OFF_RUNG: (
        "A rule makes the model accept them, but not by a change that counts",
        "The result is accepted, but is not on the rung of the rules.",
    ),
    Reason.STILL_REJECTED: (
        "A rule can be carried out, but the model still rejects the result",
        "The change was tried at every place of these graphs.",
    ),
}
"""Reasons why an input is not covered in a rule run, and advice."""


def rung_sentence(explanation: Explanation) -> str:
    """What all changes of a run have in common."""
    words = _RUNGS.get(explanation.changes, "").format(
        node="atom" if explanation.schema.is_molecular else "node", thing=thing_of(explanation)
    )
    share = _number(explanation.metrics, f"share_{explanation.changes}")
    if share is not None and share < 1:
        words = words.replace("All changes", f"{math.floor(1000 * share) / 10:.1f}% of the changes shown", 1)
    if not words or words.endswith("."):
        return words
    return f"{words}{_CHEMISTRY if explanation.schema.is_molecular else ''}."


def thing_of(explanation: Explanation) -> str:
    """The noun for the graphs of a run: molecule or graph."""
    return "molecule" if explanation.schema.is_molecular else "graph"


def agreement(explanation: Explanation) -> str:
    """Agreement of other models with the results, in a sentence below the headline."""
    metrics, num = explanation.metrics, len(explanation.inputs)
    jury, expected = _number(metrics, "jury_confirmed"), _number(metrics, "expected_true")
    if not explanation.recourses:
        return ""
    if jury is not None and expected is not None:
        agree = f"Models of other kinds that took no part agree for {round(jury * num):,} of them"
        return f"{agree}; {expected:.0%} are expected to come true."
    if (panel := _number(metrics, "confirmed_coverage")) is not None:
        return f"Most of a panel of networks trained on the same data agree for {round(panel * num):,} of them."
    return "No other model was asked whether these changes are true of the data."


def badges(recourse: CommonRecourse) -> list[tuple[str, str]]:
    """Badges of a rule: evidence with its level, strong, mixed or weak."""
    known = recourse.statistics
    found = []
    if (expected := _number(known, "expected_true")) is not None:
        words = f"expected to come true: {expected:.0%}{_range(known, 'expected_interval')}"
        found.append((_level(expected), words))
    elif (expected := _number(known, "mean_truth")) is not None:
        found.append((_level(expected), f"expected to come true: {expected:.0%}"))
    turned, tried = _pairs(known)
    if tried:
        pairs = "real pair agrees" if tried == 1 else "real pairs agree"
        found.append((_level(turned / tried), f"{turned} of {tried} {pairs}"))
    return found


def place_share(known: Mapping[str, Any]) -> float | None:
    """Share of its sites where a rule works; None if unknown."""
    places = known.get("places")
    found = places if isinstance(places, Mapping) else {}
    accepted, total, inputs = (_number(found, name) for name in ("accepted", "places", "inputs"))
    return None if accepted is None or inputs is None or not total else accepted / total


def trust_facts(recourse: CommonRecourse, things: str, class_names: Sequence[str]) -> list[tuple[str, str]]:
    """Evidence for and against a rule, as names and sentences."""
    known, facts = recourse.statistics, []
    places = known.get("places")
    if isinstance(places, Mapping) and (share := place_share(known)) is not None:
        words = f"works at {share:.0%} of {places['places']} places, in {places['inputs']} {things}; above it is the best place that counts"
        words += position_words(places)
        far = f"; {places['too_far']} {things} are too small for it within θ" if _number(places, "too_far") else ""
        facts.append(("Places", words + far))
    if (expected := _number(known, "expected_true")) is not None:
        interval = _range(known, "expected_interval").strip(" ()")
        confidence = f"; with 95% confidence {interval}" if interval else ""
        facts.append(("Expected to come true", f"{expected:.0%} of the results shown{confidence}"))
    if (confirmed := _number(known, "jury_confirmed")) is not None:
        words = f"most of those that took no part accept {confirmed:.0f} of the {recourse.gain} results shown"
        facts.append(("Models of other kinds", words))
    turned, tried = _pairs(known)
    if tried:
        reject, accept = class_names
        words = f"of {tried} pairs that differ by exactly this change and begin as {reject}, {turned} end as {accept}"
        facts.append((f"Real {things}", words))
    facts += [("Effect", "; ".join(effect_words(known)))] if effect_words(known) else []
    return facts


def listed_pairs(recourse: CommonRecourse) -> list[list[tuple[str, str]]]:
    """Name and label of the graphs of each pair that differs by a rule."""
    pairs = recourse.statistics.get("pairs")
    listed = pairs.get("listed") if isinstance(pairs, Mapping) else None
    if not isinstance(listed, list):
        return []
    return [
        [(str(one["name"]), str(one["label"])) for one in (pair["before"], pair["after"])]
        for pair in listed
        if isinstance(pair, Mapping) and all("name" in (pair.get(side) or ()) for side in ("before", "after"))
    ]


def _pairs(known: Mapping[str, Any]) -> tuple[int, int]:
    """Pairs of real graphs that begin as rejects: those that turn, and all."""
    pairs = known.get("pairs")
    if not isinstance(pairs, Mapping):
        return 0, 0
    turned, stayed = _number(pairs, "as_said") or 0, _number(pairs, "stays_reject") or 0
    return int(turned), int(turned + stayed)


def _level(share: float) -> str:
    return "strong" if share >= 0.8 else "mixed" if share >= 0.6 else "weak"


def _range(known: Mapping[str, Any], name: str) -> str:
    ends = _interval(known, name)
    return "" if ends is None else f" ({ends[0]:.0%}–{ends[1]:.0%})".replace("%–", "–")


def rule_columns(explanation: Explanation) -> list[tuple[str, str, str]]:
    """Columns of the table of rules: key, header and explanation."""
    thing = thing_of(explanation)
    elements = "Atoms and bonds" if explanation.schema.is_molecular else "Nodes and edges"
    rows = [rule_row(recourse) for recourse in explanation.recourses]
    columns = [
        ("works", "Works for", f"{thing.capitalize()}s that it makes this model accept, of those it can be carried out on; below, the 95% interval of that share"),
        ("unseen", "Unseen", f"The same share on {thing}s that took no part in the choice, mean of five splits"),
        ("confirmed", "Panel", "Of the results that this model accepts, the share that most of the panel accept too: other networks, trained on the same data"),
        ("cost", "Edits", f"{elements} that it adds, removes or changes"),
        ("gain", "Adds", f"{thing.capitalize()}s covered by this rule and by none before it"),
        ("coverage", "Covered so far", f"Share of all {thing}s covered by this rule and those before it"),
    ]  # fmt: skip
    optional = ("unseen", "confirmed")
    return [it for it in columns if it[0] not in optional or not rows or any(row[it[0]] != "–" for row in rows)]


def rule_figures(explanation: Explanation) -> list[tuple[str, str, str, str]]:
    """The main figures of a rule run: key for the page's script, name, value and explanation."""
    metrics, facts = explanation.metrics, explanation.facts
    num, things = len(explanation.recourses), f"{thing_of(explanation)}s"
    rung = f"by {explanation.changes} changes" if explanation.changes in _RUNGS else "by the rules below"
    shown = [
        ("covered", "Covered", f"{explanation.coverage:.1%}", f"of {len(explanation.inputs)} rejected {things}, {rung}")
    ]
    if (unseen := _number(metrics, "held_out_coverage")) is not None:
        hint = f"rules chosen on four fifths of the {things}, measured on the others"
        shown.append(("unseen", f"On unseen {things}", f"{unseen:.1%}", hint))
    if (bound := _number(metrics, "coverage_bound")) is not None:
        of = f"{num} of the {rules:,.0f} rules kept" if (rules := _number(metrics, "num_rules")) else f"{num} rules"
        best = ": this choice is the best" if bound - explanation.coverage < _SAME else ""
        hint = f"no {of} cover more{best}" if num != 1 else f"no other rule covers more{best}"
        shown.append(("bound", "Best possible", f"{bound:.1%}", hint))
    if (confirmed := _number(metrics, "confirmed_coverage")) is not None:
        hint = f"of the rejected {things}: most of a panel of other networks accept the result too"
        shown.append(("confirmed", "Panel agrees", f"{confirmed:.1%}", hint))
    if (cost := _number(metrics, "mean_cost")) is not None:
        elements = "atoms and bonds" if explanation.schema.is_molecular else "nodes and edges"
        hint = f"{elements} added, removed or changed, on average"
        shown.append(("cost", "Edits of a rule", f"{cost:.1f}", hint))
    if facts.model_accuracy is not None:
        shown.append(("accuracy", "Model accuracy", f"{facts.model_accuracy:.1%}", "on the whole dataset"))
    return shown


def rule_warnings(explanation: Explanation) -> list[str]:
    """Warnings that follow from the figures of a rule run."""
    confirmed = _number(explanation.metrics, "confirmed_coverage")
    if confirmed is None or confirmed >= explanation.coverage / 2:
        return []
    words = "Most of the panel of other models accept fewer than half of these results"
    return [f"{words}: many of the rules may say more about this model than about the data."]


def frontier(explanation: Explanation) -> list[dict[str, Any]]:
    """Coverage by the same number of rules with one change, with up to two, with up to three."""
    names = {"one": "one change each", "two": "up to two changes", "three": "up to three changes"}
    found = [
        {"name": name, "value": f"{share:.1%}", "bar": round(100 * share, 1)}
        for number, name in names.items()
        if (share := _number(explanation.metrics, f"coverage_up_to_{number}_changes")) is not None
    ]
    return found if len(found) > 1 else []


def rule_row(recourse: CommonRecourse) -> dict[str, str]:
    """Cells of a rule's row."""
    known = recourse.statistics
    applicable, accepted = _number(known, "applicable"), _number(known, "accepted")
    success, interval = _number(known, "success"), _interval(known)
    held_out = known.get("held_out")
    return {
        "works": "–" if applicable is None or accepted is None else f"{accepted:.0f} of {applicable:.0f}",
        "success": "–" if success is None else f"{success:.0%}",
        "interval": "" if interval is None else f"{interval[0]:.0%}–{interval[1]:.0%}".replace("%–", "–"),
        "low": f"{100 * interval[0]:.1f}" if interval else "0",
        "width": f"{100 * (interval[1] - interval[0]):.1f}" if interval else "0",
        "middle": f"{100 * success:.1f}" if success is not None else "0",
        "unseen": _percent(_number(held_out, "success") if isinstance(held_out, Mapping) else None),
        "confirmed": _percent(confirmed_share(recourse)),
        "cost": "–" if (cost := _number(known, "cost")) is None else f"{cost:g}",
    }


def confirmed_share(recourse: CommonRecourse) -> float | None:
    """Of the graphs that a rule turns, the share whose result most of the panel accept; None without a panel."""
    known = recourse.statistics
    confirmed, accepted = _number(known, "confirmed"), _number(known, "accepted")
    if confirmed is not None and accepted:
        return confirmed / accepted
    return _number(known, "share_confirmed")


def rule_facts(
    recourse: CommonRecourse, things: str = "graphs", class_names: Sequence[str] = ("reject", "accept")
) -> list[tuple[str, str]]:
    """All figures of a rule, as names and sentences."""
    known = recourse.statistics
    row = rule_row(recourse)
    facts = []
    if row["works"] != "–":
        interval = f"; with 95% confidence {row['interval']}" if row["interval"] else ""
        words = f"{row['works']} {things} that it can be carried out on ({row['success']}{interval})"
        facts.append(("Works for", words))
    if row["unseen"] != "–":
        facts.append((f"On unseen {things}", f"{row['unseen']}, mean of five splits"))
    facts += trust_facts(recourse, things, class_names)
    if row["confirmed"] != "–":
        count = _number(known, "confirmed")
        counted = f"{count:.0f} of {known['accepted']:.0f} results" if count is not None else "of the results shown"
        facts.append(("Panel", f"{row['confirmed']}: most of the panel accept {counted} too"))
    if (usual := _number(known, "random_success")) is not None and (success := _number(known, "success")) is not None:
        words = f"{usual:.0%} of all changes of the same kind work on these {things}{_times(success, usual)}"
        facts.append(("Random changes", words))
    if (rise := _number(known, "median_rise")) is not None:
        facts.append(("Probability", f"rises by {100 * rise:.0f} points where it works (median)"))
    if recourse.share_valid is not None:
        facts.append(("Valid molecules", f"{recourse.share_valid:.0%} of the results"))
    if words := property_words(known):
        facts.append(("Properties", words))
    return facts


def property_words(known: Mapping[str, Any]) -> str:
    """Effect of a rule on the properties of molecules, in a sentence; empty if unknown."""
    properties = known.get("properties")
    if not isinstance(properties, Mapping) or (num := _number(properties, "num")) is None:
        return ""
    rises = [
        f"{name} {value:+.{digits}f}{unit}".replace("-", "−")
        for key, name, digits, unit in _PROPERTIES
        if (value := _number(properties, key)) is not None
    ]
    alerts = [
        f"{count:.0f} {verb} a structural alert"
        for key, verb in (("lose_alerts", "lose"), ("gain_alerts", "gain"))
        if (count := _number(properties, key))
    ]
    words = f"{', '.join(rises)} (medians of {num:.0f} molecules)"
    return f"{words}; {', '.join(alerts)}" if alerts else words


def rule_kinds(rule: Rule) -> list[str]:
    """The kinds of edits that a rule makes."""
    image, bonds = rule.image, rule.before.bonds
    old = {ordered_edge(image[i], image[j]): bonds[i, j] for i, j in bonds if i in image and j in image}
    new = {edge: kind for edge, kind in rule.after.bonds.items() if set(edge) <= set(image.values())}
    found = {
        "remove": len(image) < len(rule.before.labels),
        "add": len(image) < len(rule.after.labels),
        "relabel": any(rule.before.labels[i] != rule.after.labels[j] for i, j in image.items())
        or any(old[edge] != new[edge] for edge in old.keys() & new.keys()),
        "cut": bool(old.keys() - new.keys()),
        "join": bool(new.keys() - old.keys()),
    }
    return sorted(kind for kind, is_one in found.items() if is_one)


def _times(success: float, usual: float) -> str:
    if usual <= 0 or success <= 0:
        return ""
    ratio = success / usual
    if ratio >= 1.15:
        return f"; this rule works {ratio:.2g} times as often"
    return "; this rule is hardly better" if ratio >= 0.9 else "; this rule works less often"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


# What a page shows of all recourses.


_EXAMPLES = 4
_DRAWN_UNCOVERED = 24  # per reason
_LONGEST_NAME = 60
_NARROW = 230  # two such pictures and an arrow fit in half the page
_MAP_SIDE = 1000

_ADVICE = {
    Reason.NO_COUNTERFACTUAL: "The search met no accepted graph close enough to these inputs. A larger theta, a longer "
    "search or a looser constraint may find one.",
    Reason.NO_RECOURSE_NEAR: "Accepted graphs close to these inputs are known, but reaching them takes a change that no "
    "chosen recourse shares, nor would as many recourses again. A larger delta may cover them.",
    Reason.BUDGET_EXHAUSTED: "As many recourses again would cover these inputs.",
    Reason.OUT_OF_TIME: "Time was up before an accepted graph close to these inputs was found. A larger time budget may find one.",
}
_REASONS = {reason: (reason.value.capitalize(), advice) for reason, advice in _ADVICE.items()}


Values = dict[str, Any]


def recourse_views(explanation: Explanation) -> list[tuple[Values, Values]]:
    """Every recourse, in order of selection: its row in the table, and what the page's script needs to open it."""
    pen, scale = Pen(explanation.schema), _MapScale(explanation)
    largest = max((recourse.gain for recourse in explanation.recourses), default=1) or 1
    views = []
    for recourse, coverage in zip(explanation.recourses, explanation.coverage_curve, strict=True):
        row = {
            "summary": recourse.summary,
            "gain": recourse.gain,
            "bar": round(100 * recourse.gain / largest, 1),
            "coverage": f"{coverage:.1%}",
            "norm": "–" if recourse.norm is None else f"{recourse.norm:.3g}",
            "edits": "–" if recourse.median_edits is None else f"{recourse.median_edits:g}",
            "valid": _percent(recourse.share_valid),
        }
        if recourse.rule:
            views.append((row | rule_cells(explanation, recourse), _rule_data(explanation, recourse, pen)))
        else:
            views.append((row, _recourse_data(explanation, recourse, pen, scale)))
    return views


def _recourse_data(explanation: Explanation, recourse: CommonRecourse, pen: Pen, scale: _MapScale) -> dict[str, Any]:
    graphs = [explanation.inputs[member.input].graph for member in recourse.covered]
    patterns = [
        edit_pattern(graph, member.edits, explanation.schema)
        for graph, member in zip(graphs, recourse.covered, strict=True)
    ]
    chosen = representatives([pattern.text for pattern in patterns], [graph.size for graph in graphs], _EXAMPLES)
    return _words_data(recourse) | {
        "kinds": sorted({step.split(" ", maxsplit=1)[0] for pattern in patterns for step in pattern.steps}),
        "examples": [_example(explanation, recourse.covered[place], patterns[place].text, pen) for place in chosen],
        "reach": f"All {recourse.gain} inputs it adds"
        + (f"; it also covers {len(recourse.also_covers)} of those before" if recourse.also_covers else ""),
        "points": [scale(member) for member in recourse.covered],
    }


def _words_data(recourse: CommonRecourse) -> dict[str, Any]:
    """Data of a recourse for the page's script."""
    words = {name: getattr(recourse, name) for name in ("summary", "description")}
    inputs = [member.input for member in recourse.covered]
    return {**words, "text": " ".join(words.values()).lower(), "inputs": inputs}


def rule_picture(explanation: Explanation, recourse: CommonRecourse) -> Markup | None:
    """A rule before and after, as SVG; None for a vector."""
    if recourse.rule is None:
        return None
    title = f"Before and after: {recourse.summary}"
    return Markup(draw_rule(recourse.rule, explanation.schema, title=title))  # names in it are escaped


def with_subscripts(words: str) -> str:
    """Words whose formulas have their figures below; a SMILES, which closes a ring with 1 as no formula counts atoms, stays as it is."""
    formula, below = re.compile(r"(?:\s|^)(?!\S*[A-Za-z]1(?!\d))\S+"), re.compile(r"([A-Z][a-z]?|\))(\d+)")
    return formula.sub(lambda word: below.sub(r"\1<sub>\2</sub>", word[0]), words)


def rule_cells(explanation: Explanation, recourse: CommonRecourse) -> dict[str, Any]:
    """What the row of a rule shows; formulas in its words have their subscripts."""
    words = escape(recourse.summary)
    if explanation.schema.is_molecular:
        words = Markup(with_subscripts(str(words)))  # escaped before
    return {
        "words": words,
        "picture": rule_picture(explanation, recourse),
        "badges": badges(recourse),
        **rule_row(recourse),
    }


def _rule_data(explanation: Explanation, recourse: CommonRecourse, pen: Pen) -> dict[str, Any]:
    assert recourse.rule is not None
    thing = thing_of(explanation)
    by_size = sorted(recourse.covered, key=lambda member: (explanation.inputs[member.input].graph.size, member.input))
    step = max(1, len(by_size) // (2 * _EXAMPLES))  # from the smaller half, which is easier to read
    return _words_data(recourse) | {
        "kinds": rule_kinds(recourse.rule),
        "facts": rule_facts(recourse, f"{thing}s", explanation.schema.class_names),
        "smirks": recourse.smirks or "",
        "examples": [_example(explanation, member, "", pen) for member in by_size[::step][:_EXAMPLES]],
        "reach": f"The {_counted(recourse.gain, thing)} that it covers and no rule before it does",
        "also_reach": f"It also covers {_counted(len(recourse.also_covers), thing)} that a rule before it covers",
        "also": list(recourse.also_covers),
        "points": [],
    }


def _example(explanation: Explanation, member: CoveredInput, pattern: str, pen: Pen) -> dict[str, Any]:
    graph = explanation.inputs[member.input].graph
    title = f"Input {member.input}"
    # The counterfactual of a rule has edge labels too.
    change = Change.between(graph, member.counterfactual) if member.site else Change.along(graph, member.edits)
    picture = pen.draw_change(change, title)
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
    """The model's probability for the class it predicts for an input."""
    return f"P({clipped(explanation.schema.class_names[0])}) {explanation.inputs[index].reject_probability:.0%}"


def input_words(explanation: Explanation, index: int) -> str:
    """An input by its number, and by its name where the data has names."""
    name = explanation.inputs[index].name
    return f"Input {index} ({clipped(name)})" if name else f"Input {index}"


def uncovered_views(explanation: Explanation) -> list[tuple[Values, list[Values]]]:
    """The inputs not covered, by reason: the group on the page, and the drawings in it, of the smallest."""
    pen = Pen(explanation.schema)
    words = REASONS if explanation.recourse == "rules" else _REASONS
    views = []
    for reason in Reason:
        indices = [entry.input for entry in explanation.uncovered if entry.reason == reason]
        if indices:
            name, advice = words.get(reason, (reason.value.capitalize(), ""))
            group = {"reason": name, "advice": advice, "num": len(indices), "indices": ", ".join(map(str, indices))}
            smallest = sorted(indices, key=lambda index: (explanation.inputs[index].graph.size, index))
            cards = [
                {
                    "svg": pen.draw(explanation.inputs[index].graph, (), f"Input {index}").before,
                    "words": f"{input_words(explanation, index)}, {_probability(explanation, index)}",
                }
                for index in smallest[:_DRAWN_UNCOVERED]
            ]
            views.append((group, cards))
    return views


def figures(explanation: Explanation) -> list[tuple[str, str, str, str]]:
    """The main figures: key for the page's script, name, value and explanation."""
    if explanation.recourse == "rules":
        return rule_figures(explanation)
    metrics, facts = explanation.metrics, explanation.facts
    shown = [("", "Covered", f"{explanation.coverage:.1%}", f"of {len(explanation.inputs)} rejected graphs")]
    if (share := metrics.get("directional_coverage")) is not None:
        shown.append(("", "Directional", f"{share:.1%}", "covered by recourses that exclude “change nothing”"))
    if (share := metrics.get("trivial_coverage")) is not None:
        shown.append(("", "Trivial", f"{share:.1%}", "covered by “change nothing” alone"))
    edits = [member.num_edits for recourse in explanation.recourses for member in recourse.covered]
    if edits:
        shown.append(("", "Edits", f"{statistics.median(edits):g}", "true edit count, median over covered graphs"))
    if (cost := metrics.get("cost")) is not None:
        shown.append(("", "Cost", f"{cost:.3g}", "smallest length that covers each input, summed"))
    if facts.model_accuracy is not None:
        shown.append(("", "Model accuracy", f"{facts.model_accuracy:.1%}", "on the whole dataset"))
    return shown


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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


def clipped(name: str) -> str:
    """A name short enough for a line."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
