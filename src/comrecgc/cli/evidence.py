"""Evidence as a person at a terminal reads it: the whole in a sentence, controls side by side, a verdict on each recourse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from comrecgc.terminal import out

if TYPE_CHECKING:
    from comrecgc.evidence import ControlEvidence, Evidence

_SHOWN = 20
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
        table.add_row(*_control_cells(control))
    out.print(table)
    if evidence.models:
        out.print(_models(evidence))
    for number, recourse in enumerate(evidence.recourses[:_SHOWN], start=1):
        out.print(Text(f"{number}. {recourse.summary}"), soft_wrap=True)
        out.print(Text(f"   {recourse.verdict.sentence}"), soft_wrap=True)
    if len(evidence.recourses) > _SHOWN:
        out.print(f"… and {len(evidence.recourses) - _SHOWN} more, in evidence.json", markup=False)


def _models(evidence: Evidence) -> Table:
    """What each other model and each architecture says of all recourses."""
    table = Table(
        "other model",
        "took part in the choice",
        "recourses that work there",
        "inputs it rejects too and that are turned",
    )
    for row in (*evidence.models, *(row for row in evidence.architectures if row.models > 1)):
        name = row.name if row.models == 1 else f"all {row.models} {row.name}"
        turned = f"{row.turned} of {row.rejects}" + (f" ({row.turned / row.rejects:.0%})" if row.rejects else "")
        table.add_row(name, "yes" if row.chosen_with else "no", f"{row.works} of {row.asked}", turned)
    return table


def _control_cells(control: ControlEvidence) -> list[str]:
    figures = control.figures
    shares = [figures.get(name) for name in _COLUMNS]
    said, against = figures.get("pairs_as_said"), figures.get("pairs_against")
    levels = [figures.get(level) for level in ("strong", "mixed", "weak")]
    return [
        control.name,
        *("" if share is None else f"{share:.1%}" for share in shares),
        "" if said is None or against is None else f"{said} of {said + against} agree" if said + against else "none",
        "" if None in levels else " / ".join(str(level) for level in levels),
    ]
