"""The paper's pictures of common recourses on Mutagenicity, found by search among our rules, not drawn by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comrecgc.drawing import draw_rule
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import catalogue_of
from comrecgc.graphs import Rule
from comrecgc.run import write_text
from comrecgc_reproduction.grounds import Ground
from comrecgc_reproduction.laboratory import Laboratory, versions
from comrecgc_reproduction.tables import NOT_RUN

_DATASET = "mutagenicity"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A recourse that the paper shows.

    Args:
        name: Short name; its file is called so.
        figure: Where it stands in the paper.
        words: What the paper says of it.
        difference: Atoms added (positive) or removed; hydrogens are not looked at, since ours follow valences.
    """

    name: str
    figure: str
    words: str
    difference: tuple[tuple[str, int], ...]


WANTED = (
    Wanted(name="nitro", figure="Figure 1", words="removing NO2", difference=(("N", -1), ("O", -2))),
    Wanted(name="carbon", figure="Figure 3", words="removing two hydrogens and a carbon", difference=(("C", -1),)),
    Wanted(
        name="exchange",
        figure="Figure 4",
        words="removing a nitrogen and a hydrogen, adding an oxygen and a carbon",
        difference=(("C", 1), ("N", -1), ("O", 1)),
    ),
)


def draw_recourses(laboratory: Laboratory) -> Path:
    """Find the recourses of the paper's pictures among plausible rules, and draw them; returns the page that lists them."""
    ground = laboratory.ground(_DATASET)
    cell = laboratory.cells.value(f"pictures {_DATASET} {ground.model} {laboratory.scale}", lambda: _searched(ground))
    lines = ["## Common recourses that the paper shows", ""]
    for wanted in WANTED:
        lines.append(f"### {wanted.figure}: {wanted.words}\n")
        if cell is None:
            lines.append(f"{NOT_RUN.capitalize()}.\n")
            continue
        found = cell[wanted.name]
        if found is None:
            lines.append("No plausible rule of the table does this.\n")
            continue
        write_text(laboratory.folder / f"recourse-{wanted.name}.svg", found["picture"])
        lines.append(
            f"{found['words']}: works for {found['turned']} of the {found['applicable']} molecules it can be carried out on. "
            f"Rules of the table that do the like: {found['alike']}.\n"
        )
        lines.append(f"![{wanted.words}](recourse-{wanted.name}.svg)\n")
    path = laboratory.folder / "pictures.md"
    notes = ("All graphs of Mutagenicity, whatever the scale.", f"Models: {ground.provenance}.", versions())
    write_text(path, "\n".join([*lines, *(f"{note}\n" for note in notes)]))
    return path


def _searched(ground: Ground) -> dict[str, Any]:
    """What was found of each that is wanted, by name: the words, the counts and the picture of the best rule; None if no rule does it."""
    explainer = CommonRecourseExplainer(ground.classifier, changes="plausible", panel=False, jobs=ground.jobs)
    explainer.fit(ground.whole, progress=ground.progress)
    mined, dataset = explainer.mined_, ground.whole
    assert mined is not None
    catalogue, rules = catalogue_of(mined), [record.rule for record in mined.rules()]
    table = mined.table
    order = sorted(range(len(table)), key=lambda row: (table.num_changes[row], -table.num_accepted[row], row))
    found: dict[str, Any] = {}
    for wanted in WANTED:
        rows = [row for row in order if difference(rules[row], dataset.label_names) == wanted.difference]
        if not rows:
            found[wanted.name] = None
            continue
        row, words = rows[0], catalogue[rows[0]]
        picture = draw_rule(
            rules[row], dataset.label_names,
            edge_label_names=dataset.edge_label_names, is_molecular=dataset.is_molecular,
            title=wanted.words, standalone=True,
        )  # fmt: skip
        found[wanted.name] = {
            "words": words.summary,
            "turned": int(table.num_accepted[row]),
            "applicable": int(table.num_applicable[row]),
            "alike": len(rows),
            "picture": picture,
        }
    return found


def difference(rule: Rule, label_names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Atoms that a rule adds or removes, hydrogens apart, by name."""
    counts = Counter(label_names[label] for label in rule.after.labels)
    counts.subtract(label_names[label] for label in rule.before.labels)
    return tuple(sorted((name, count) for name, count in counts.items() if count and name != "H"))
