"""What a command prints when it is done: figures, the first recourses in words, where the report is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.table import Table
from rich.text import Text

from comrecgc.explanation import Explanation
from comrecgc.runs import REPORT
from comrecgc.terminal import err, out

_SHOWN = 5


def print_summary(explanation: Explanation, folder: Path) -> None:
    """Figures of a run, its first recourses, and where its report is."""
    for warning in explanation.warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    out.print(headline(explanation), markup=False, soft_wrap=True)
    if explanation.recourses:
        out.print(recourse_table(explanation))
    print_reasons(explanation)
    out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)


def headline(explanation: Explanation) -> str:
    """Coverage in one line."""
    parameters = explanation.parameters
    limits = ", ".join(
        f"{sign} = {parameters[name]:.4g}" for sign, name in (("θ", "theta"), ("Δ", "delta")) if name in parameters
    )
    return (
        f"{explanation.dataset}: {len(explanation.recourses)} common recourses cover {explanation.coverage:.1%} of "
        f"{len(explanation.inputs)} rejected graphs ({limits})"
    )


def recourse_table(explanation: Explanation) -> Table:
    """The first recourses: what they do, for how many."""
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
        words = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
        out.print(f"not covered: {words}", markup=False, soft_wrap=True)
