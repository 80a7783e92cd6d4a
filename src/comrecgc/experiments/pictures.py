"""The paper's pictures of common recourses on Mutagenicity, found by search among our rules, not drawn by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from comrecgc.drawing import draw_rule
from comrecgc.experiments.laboratory import Laboratory, versions
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Rule
from comrecgc.pipeline import catalogue_of
from comrecgc.storage import write_text

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
    explainer = CommonRecourseExplainer(ground.classifier, changes="plausible", panel=False, jobs=laboratory.jobs)
    explainer.fit(ground.whole, progress=laboratory.progress)
    mined, dataset = explainer.mined_, ground.whole
    assert mined is not None
    catalogue = catalogue_of(mined)
    table = mined.table
    order = sorted(range(len(table)), key=lambda row: (table.num_changes[row], -table.num_accepted[row], row))
    lines = ["## Common recourses that the paper shows", ""]
    for wanted in WANTED:
        rows = [row for row in order if difference(catalogue[row].rule, dataset.label_names) == wanted.difference]
        lines.append(f"### {wanted.figure}: {wanted.words}\n")
        if not rows:
            lines.append("No plausible rule of the table does this.\n")
            continue
        row, words = rows[0], catalogue[rows[0]].words
        picture = draw_rule(
            catalogue[row].rule, dataset.label_names,
            edge_label_names=dataset.edge_label_names, is_molecular=dataset.is_molecular,
            title=wanted.words, standalone=True,
        )  # fmt: skip
        write_text(laboratory.folder / f"recourse-{wanted.name}.svg", picture)
        turned, can = table.num_accepted[row], table.num_applicable[row]
        what = words.summary if words else "A rule"
        lines.append(
            f"{what}: works for {turned} of the {can} molecules it can be carried out on. Rules of the table that do the like: {len(rows)}.\n"
        )
        lines.append(f"![{wanted.words}](recourse-{wanted.name}.svg)\n")
    path = laboratory.folder / "pictures.md"
    notes = ("All graphs of Mutagenicity, whatever the scale.", f"Models: {ground.provenance}.", versions())
    write_text(path, "\n".join([*lines, *(f"{note}\n" for note in notes)]))
    return path


def difference(rule: Rule, label_names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Atoms that a rule adds or removes, hydrogens apart, by name."""
    counts = Counter(label_names[label] for label in rule.after.labels)
    counts.subtract(label_names[label] for label in rule.before.labels)
    return tuple(sorted((name, count) for name, count in counts.items() if count and name != "H"))
