"""What a command prints when it is done: figures, the first recourses in words, where the report is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.table import Table
from rich.text import Text

from comrecgc.explanation import CommonRecourse, Explanation
from comrecgc.runs import REPORT
from comrecgc.terminal import err, out

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
        out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)


def headline(explanation: Explanation) -> str:
    """Coverage in one line."""
    parameters = explanation.parameters
    limits = ", ".join(
        f"{sign} = {parameters[name]:.4g}" for sign, name in (("θ", "theta"), ("Δ", "delta")) if name in parameters
    )
    what, covers = ("rule", "turn") if explanation.recourse == "rules" else ("common recourse", "cover")
    num = len(explanation.recourses)
    said = f"1 {what} {covers}s" if num == 1 else f"{num} {what}s {covers}"
    return f"{explanation.dataset}: {said} {_reach(explanation)} ({limits}, {explanation.changes} changes)"


def _reach(explanation: Explanation) -> str:
    """The share covered: of all graphs, where those shown are a sample."""
    shown = f"{explanation.coverage:.1%} of {len(explanation.inputs)} rejected graphs"
    whole, num = (explanation.metrics.get(f"population_{name}") for name in ("coverage", "inputs"))
    return (
        shown
        if whole is None
        else f"{whole:.1%} of {num} rejected graphs, and {explanation.coverage:.1%} of the {len(explanation.inputs)} shown"
    )


def rule_figures(explanation: Explanation) -> list[str]:
    """What else is to be said of rules: held out, confirmed, and how much better a choice could be."""
    metrics = explanation.metrics
    known = {
        name: value
        for name in ("held_out_coverage", "confirmed_coverage", "coverage_bound")
        if (value := metrics.get(name)) is not None
    }
    several = explanation.facts.facts.get("agree") is True
    texts = {
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
    known = recourse.statistics or {}
    low, high = known.get("interval") or (0.0, 1.0)
    works = f"works for {known.get('accepted', recourse.gain)} of {known.get('applicable', '?')}"
    often = f"{works} ({known.get('success', 0):.0%}, {100 * low:.0f}–{high:.0%})"
    facts = [
        often if known.get("applicable", 1) else "cannot be carried out on any of them",
        f"cost {known.get('cost', recourse.median_edits or 0):g}",
    ]
    if known.get("confirmed") is not None and known.get("accepted"):
        facts.append(f"confirmed {known['confirmed'] / known['accepted']:.0%}")
    return "; ".join([*facts, f"{coverage:.1%} so far"])


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
