"""Evidence on finished runs, and whether its controls separate: python benchmarks/evidence.py RUN … [--jobs 2]

A run is made by `comrecgc explain --dataset NAME --classifier DIR/NAME/classifier.pth --out RUN`. Prints, for each run, the seconds of processor time, what other models, matched
pairs and verdicts say of the explained model and of classifiers that know nothing, and every verdict in words. `--kept` prints evidence gathered before.
"""

from __future__ import annotations

import argparse
import csv
import resource
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from comrecgc.data import load_dataset
from comrecgc.evidence import Evidence, load_evidence
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.molecules import to_rdkit
from comrecgc.run import RunContext
from comrecgc.runs import open_run

COLUMNS = (
    "coverage",
    "confirmed_coverage",
    "second_panel_coverage",
    "turned_in_other_models",
    "strong_coverage",
    "backed_coverage",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--dataset", help="the file of the data, where it is no benchmark")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", action="store_true", help="print what the folders hold")
    parser.add_argument("--no-controls", action="store_true")
    options = parser.parse_args()
    for run in options.runs:
        explanation = Explanation.load(run)
        started = seconds()
        evidence = load_evidence(run) if options.kept else None
        if evidence is None:
            dataset = load_dataset(options.dataset or explanation.schema.dataset)
            evidence = open_run(run).evidence(
                dataset, with_controls=not options.no_controls, context=RunContext(jobs=options.jobs)
            )
        show(evidence, seconds() - started)
        if explanation.schema.dataset == "mutagenicity":
            show_published(explanation)


def seconds() -> float:
    """Processor time so far, that of processes which trained models included."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def show(evidence: Evidence, spent: float) -> None:
    print(f"\n{evidence.dataset}, {evidence.recourse}, {evidence.changes}: {spent:.0f} s. {evidence.sentence}")
    print(f"| classifier | {' | '.join(COLUMNS)} | pairs as said, against | strong / mixed / weak |")
    for control in evidence.controls:
        figures = control.figures
        shares = ["" if figures.get(name) is None else f"{figures[name]:.1%}" for name in COLUMNS]
        levels = [str(figures.get(level, "")) for level in ("strong", "mixed", "weak")]
        pairs = f"{figures.get('pairs_as_said', '')}, {figures.get('pairs_against', '')}"
        print(f"| {control.name} | {' | '.join(shares)} | {pairs} | {' / '.join(levels)} |")
    for model in (*evidence.models, *evidence.architectures):
        print(f"{model.name}: works for {model.works} of {model.asked}, turns {model.turned} of {model.rejects}")
    print({name: round(value, 3) if isinstance(value, float) else value for name, value in evidence.figures.items()})
    print({name: round(value, 3) if isinstance(value, float) else value for name, value in evidence.reviewers.items()})
    for number, recourse in enumerate(evidence.recourses, start=1):
        print(f"{number}. {recourse.summary}\n   {recourse.verdict.sentence}")
    print(flush=True)


def show_published(explanation: Explanation) -> None:
    """What recourses do to the toxicophores of Kazius et al. 2005."""
    for number, (recourse, found) in enumerate(
        zip(explanation.recourses, published_changes(explanation, kazius_groups()), strict=True), start=1
    ):
        parts = [
            f"{verb} {name} {share:.0%}"
            for verb in ("loses", "gains")
            for name, share in found[verb].items()
            if share >= 0.1
        ]
        agrees = "" if found["agrees"] is None else f"{found['agrees']:.0%} agree"
        print(f"{number}. {recourse.summary} ({found['looked_at']} looked at, {agrees}): {'; '.join(parts) or 'none'}")


@dataclass(frozen=True, kw_only=True)
class PublishedGroup:
    """A group that a paper names, as SMARTS."""

    kind: Literal["toxicophore", "detoxifying"]
    name: str
    smarts: str


def kazius_groups() -> list[PublishedGroup]:
    """The toxicophores of Kazius et al. 2005, and the groups that suppress them."""
    text = (Path(__file__).parent / "kazius2005.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [PublishedGroup(**row) for row in csv.DictReader(lines)]  # type: ignore[arg-type]


def published_changes(
    explanation: Explanation, groups: Sequence[PublishedGroup], most: int = 100
) -> list[dict[str, Any]]:
    """For each recourse, the share of its counterfactuals that lose or gain each published group.

    Args:
        explanation: Recourses on molecules.
        groups: The groups.
        most: Counterfactuals looked at per recourse.

    Returns:
        For each recourse `looked_at`, `loses` and `gains`: shares by the name of the group, where they are not zero; `agrees` is the share that loses a
        toxicophore and gains none, or gains a detoxifying group.
    """
    from rdkit import Chem

    patterns = [(group, Chem.MolFromSmarts(group.smarts)) for group in groups]

    def counts(graph: Graph) -> Counter[str] | None:
        molecule = to_rdkit(graph, explanation.schema.label_names)
        if molecule is None or Chem.SanitizeMol(molecule, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
            return None
        return Counter({group.name: len(molecule.GetSubstructMatches(pattern)) for group, pattern in patterns})

    toxic = {group.name for group in groups if group.kind == "toxicophore"}
    found = []
    for recourse in explanation.recourses:
        loses, gains, agrees, looked_at = Counter[str](), Counter[str](), 0, 0
        for member in recourse.covered[:most]:
            before, after = counts(explanation.inputs[member.input].graph), counts(member.counterfactual)
            if before is None or after is None:
                continue
            looked_at += 1
            fewer = {name for name in before if after[name] < before[name]}
            more = {name for name in after if after[name] > before[name]}
            loses.update(fewer)
            gains.update(more)
            agrees += not (more & toxic) and bool((fewer & toxic) or (more - toxic))
        found.append(
            {
                "looked_at": looked_at,
                "agrees": agrees / looked_at if looked_at else None,
                "loses": {name: num / looked_at for name, num in sorted(loses.items())},
                "gains": {name: num / looked_at for name, num in sorted(gains.items())},
            }
        )
    return found


if __name__ == "__main__":
    main()
