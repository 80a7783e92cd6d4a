"""What a command prints when it is done: figures, the first recourses in words, where the report is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from comrecgc.explanation import CommonRecourse, Explanation, effect_words, position_words
from comrecgc.runs import REPORT
from comrecgc.terminal import err, out

if TYPE_CHECKING:
    from comrecgc.evidence import Evidence, Figure


_SHOWN = 5
_RULES_SHOWN = 10


def print_summary(explanation: Explanation, folder: Path | None) -> None:
    """Figures of a run, its first recourses, and where its report is."""
    for warning in explanation.warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    out.print(headline(explanation), markup=False, soft_wrap=True)
    for line in rule_figures(explanation):
        out.print(line, markup=False, soft_wrap=True)
    if explanation.recourses:
        out.print(recourse_table(explanation))
    print_reasons(explanation)
    if folder is not None:
        for command, purpose in _next_commands(explanation, quote(str(folder))):
            out.print(f"next: {command}  # {purpose}", markup=False, soft_wrap=True, highlight=False)
        out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)


def _next_commands(explanation: Explanation, folder: str) -> list[tuple[str, str]]:
    """Two commands that go on from a finished run, with what they are for."""
    if not explanation.recourses:
        return []
    check = (f"comrecgc evaluate {folder} --evidence", "recompute every figure, and ask whether to believe it")
    if explanation.recourse == "rules":
        return [
            (f"comrecgc choose {folder} --min-success 0.8", "choose again under other wishes, without a search"),
            check,
        ]
    return [(f"comrecgc apply --run {folder} --dataset NEW", "the same recourses on unseen graphs"), check]


def print_figures(figures: Sequence[Figure]) -> None:
    """Figures of a run that differ when recomputed, and how many are the same."""
    told = [figure for figure in figures if None not in (figure.stored, figure.recomputed)]
    different = [figure for figure in told if not figure.agrees]
    if different:
        table = Table("figure", "stored", "recomputed")
        for figure in different:
            table.add_row(figure.name, f"{figure.stored:.6g}", f"{figure.recomputed:.6g}")
        out.print(table)
    same = len(told) - len(different)
    out.print(f"{same} of {len(told)} figures identical" if different else f"all {len(told)} figures identical")
    for why, count in Counter(figure.why for figure in figures if figure.recomputed is None).items():
        out.print(f"{count} not recomputed" + (f": {why}" if why else ""), markup=False, soft_wrap=True)


def headline(explanation: Explanation) -> str:
    """Coverage in one line."""
    parameters = explanation.parameters
    limits = ", ".join(
        f"{sign} = {parameters[name]:.4g}" for sign, name in (("θ", "theta"), ("Δ", "delta")) if name in parameters
    )
    what, covers = ("rule", "turn") if explanation.recourse == "rules" else ("common recourse", "cover")
    num = len(explanation.recourses)
    said = f"1 {what} {covers}s" if num == 1 else f"{num} {what}s {covers}"
    goal = explanation.schema.class_names[1]
    aim = "" if goal == "accept" else f" to reach {goal}"
    return f"{explanation.schema.dataset}{aim and ','}{aim}: {said} {_reach(explanation)} ({limits}, {explanation.changes} changes)"


def _reach(explanation: Explanation) -> str:
    """The share covered: of all graphs, where those shown are a sample."""
    shown = f"{explanation.coverage:.1%} of {len(explanation.inputs)} rejected graphs"
    late = explanation.metrics.get("num_out_of_time")
    if isinstance(late, int):
        shown += f" (those tried of {len(explanation.inputs) + late} before the time budget ended)"
    whole, num = (explanation.metrics.get(f"population_{name}") for name in ("coverage", "inputs"))
    if whole is None:
        return shown
    return (
        f"{whole:.1%} of {num} rejected graphs, and {explanation.coverage:.1%} of the {len(explanation.inputs)} shown"
    )


def rule_figures(explanation: Explanation) -> list[str]:
    """What else is to be said of rules: held out, confirmed, and how much better a choice could be."""
    metrics = explanation.metrics
    known = {
        name: value
        for name in ("expected_true", "jury_share", "held_out_coverage", "confirmed_coverage", "coverage_bound")
        if (value := metrics.get(name)) is not None
    }
    several = explanation.facts.facts.get("agree") is True
    texts = {
        "expected_true": "{:.0%} of the results are expected to come true",
        "jury_share": "models of other kinds that took no part accept {:.1%} of them",
        "held_out_coverage": "{:.1%} of graphs not used for the choice",
        "confirmed_coverage": "all models accept {:.1%}" if several else "most of the panel confirm {:.1%}",
        "coverage_bound": "no choice of as many rules turns more than {:.1%}",
    }
    if explanation.recourse != "rules" or not known:
        return []
    return ["; ".join(texts[name].format(value) for name, value in known.items())]


def recourse_table(explanation: Explanation) -> Table:
    """The first recourses: what they do, for how many."""
    return _rule_table(explanation) if explanation.recourse == "rules" else _vector_table(explanation)


def _rule_table(explanation: Explanation) -> Table:
    """Each rule in words, and below it how often it works: sentences, which wrap better than narrow columns."""
    table = Table.grid(padding=(0, 1, 0, 0))
    shown = zip(explanation.recourses[:_RULES_SHOWN], explanation.coverage_curve, strict=False)
    for place, (recourse, coverage) in enumerate(shown):
        # A label's name may look like markup, so it goes in as text.
        table.add_row(f"{place + 1:>2}.", Text(recourse.summary, style="bold"))
        table.add_row("", Text(_rule_facts(recourse, coverage)))
    return table


def _rule_facts(recourse: CommonRecourse, coverage: float) -> str:
    known = recourse.statistics
    low, high = known.get("interval") or (0.0, 1.0)
    works = f"works for {known.get('accepted', recourse.gain)} of {known.get('applicable', '?')}"
    often = f"{works} ({known.get('success', 0):.0%}, {100 * low:.0f}–{high:.0%})"
    places = known.get("places") or {}
    if places.get("places"):
        often += (
            f" at the best place; {places['accepted'] / places['places']:.0%} of the places{position_words(places)}"
        )
    if places.get("too_far"):
        often += f"; {places['too_far']} too small within θ"
    facts = [
        often if known.get("applicable", 1) else "cannot be carried out on any of them",
        f"cost {known.get('cost', recourse.median_edits or 0):g}",
    ]
    if known.get("expected_true") is not None:
        facts.append(f"expected to come true {known['expected_true']:.0%}")
    elif known.get("confirmed") is not None and known.get("accepted"):
        facts.append(f"confirmed {known['confirmed'] / known['accepted']:.0%}")
    pairs = known.get("pairs")
    if pairs and pairs["as_said"] + pairs["stays_reject"]:
        facts.append(f"real pairs {pairs['as_said']} of {pairs['as_said'] + pairs['stays_reject']}")
    return "; ".join([*facts, *effect_words(known), f"{coverage:.1%} so far"])


def _vector_table(explanation: Explanation) -> Table:
    table = Table("", "recourse", "graphs", "covered so far", "edits", "length")
    if any(recourse.share_valid is not None for recourse in explanation.recourses):
        table.add_column("valid")
    shown = zip(explanation.recourses[:_SHOWN], explanation.coverage_curve, strict=False)
    for place, (recourse, coverage) in enumerate(shown):
        row: list[str | Text] = [
            str(place + 1),
            Text(recourse.summary),  # a label's name may look like markup
            str(recourse.gain),
            f"{coverage:.1%}",
            "" if recourse.median_edits is None else f"{recourse.median_edits:g}",
            "" if recourse.norm is None else f"{recourse.norm:.3f}",
        ]
        table.add_row(*row, *([] if recourse.share_valid is None else [f"{recourse.share_valid:.0%}"]))
    return table


def print_reasons(explanation: Explanation) -> None:
    """How many inputs are not covered, by reason."""
    counts = Counter(entry.reason.value for entry in explanation.uncovered)
    if counts:
        words = ", ".join(f"{count} ({reason})" for reason, count in counts.most_common())
        out.print(f"not covered: {words}", markup=False, soft_wrap=True)


# Evidence as a person at a terminal reads it: the whole in a sentence, controls side by side, a verdict on each recourse.


_VERDICTS_SHOWN = 20
_COLUMNS = {
    "coverage": "coverage",
    "confirmed_coverage": "confirmed",
    "second_panel_coverage": "second panel",
    "turned_in_other_models": "turned in other models",
    "strong_coverage": "by strong ones",
    "backed_coverage": "by strong and mixed ones",
}


def print_evidence(evidence: Evidence) -> None:
    """The evidence on a run."""
    out.print(f"\nCan I trust this? {evidence.sentence}", markup=False, soft_wrap=True)
    for note in evidence.notes:
        out.print(note, markup=False, soft_wrap=True)
    table = Table("classifier", *_COLUMNS.values(), "matched pairs", "strong / mixed / weak")
    for control in evidence.controls:
        agree = f"{control.pairs} agree" if " of " in control.pairs else control.pairs
        cells = (*(control.share(name) for name in _COLUMNS), agree, control.verdicts)
        table.add_row(control.name, *("" if cell == "–" else cell for cell in cells))
    out.print(table)
    if evidence.models:
        out.print(_models(evidence))
    for number, recourse in enumerate(evidence.recourses[:_VERDICTS_SHOWN], start=1):
        out.print(Text(f"{number}. {recourse.summary}"), soft_wrap=True)
        out.print(Text(f"   {recourse.verdict.sentence}"), soft_wrap=True)
    if len(evidence.recourses) > _VERDICTS_SHOWN:
        out.print(f"… and {len(evidence.recourses) - _VERDICTS_SHOWN} more, in evidence.json", markup=False)


def _models(evidence: Evidence) -> Table:
    """What each other model and each architecture says of all recourses."""
    table = Table(
        "other model",
        "took part in the choice",
        "recourses that work there",
        "inputs it rejects too and that are turned",
    )
    for row in (*evidence.models, *(row for row in evidence.architectures if row.models > 1)):
        turned = f"{row.turned} of {row.rejects}" + (f" ({row.turned / row.rejects:.0%})" if row.rejects else "")
        table.add_row(row.title, "yes" if row.chosen_with else "no", f"{row.works} of {row.asked}", turned)
    return table
