"""Precision and recall where the truth is planted: python benchmarks/known_truth.py [--graphs 400] [--difficulties plain decoy …]

A classifier and two panels are trained on the planted set at each difficulty; its rules, all and those that other models follow, are compared with what was
planted. A counterfactual is cured if it carries no toxic group; precision is the share of changes that touch one, recall the share of kinds that some rule removes.
"""

from __future__ import annotations

import argparse
import time

from comrecgc.algorithms.registry import Rules
from comrecgc.evidence.gathering import gather
from comrecgc.evidence.known_truth import DIFFICULTIES, PlantedTruth, compare_with_planted, planted
from comrecgc.evidence.subject import Subject
from comrecgc.evidence.verdict import Verdict
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.models import ClassifierTraining, PanelTraining, obtain_panel, train_classifier
from comrecgc.run import LocalEngine, RunContext


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=400)
    parser.add_argument("--difficulties", nargs="+", default=DIFFICULTIES, choices=DIFFICULTIES)
    parser.add_argument("--max-changes", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for difficulty in options.difficulties:
        started = time.monotonic()
        dataset = planted(difficulty, num_graphs=options.graphs)
        trained = train_classifier(dataset, ClassifierTraining(epochs=300, patience=60, learning_rate=0.003))
        panels = [PanelTraining(epochs=100, patience=40, number=number) for number in (0, 1)]
        first, _ = obtain_panel(dataset, training=panels[0], engine=LocalEngine(jobs=options.jobs))
        explainer = CommonRecourseExplainer(
            trained.model,
            Rules(max_changes=options.max_changes),
            panel=first,
            num_recourses=8,
            context=RunContext(jobs=options.jobs),
        ).fit(dataset)
        evidence = gather(
            Subject.of(explainer), second_panel=panels[1], with_controls=False, engine=LocalEngine(jobs=options.jobs)
        )
        followed = [k for k, it in enumerate(evidence.recourses) if _is_followed(it.verdict)]
        print(
            f"\n{difficulty}: accuracy {trained.accuracy['test']:.1%}, coverage {explainer.explanation_.coverage:.1%}, "
            f"{evidence.levels}, {time.monotonic() - started:.0f} s"
        )
        for name, chosen in (("all rules", None), (f"{len(followed)} that other models follow", followed)):
            print(f"  {name}: {_words(compare_with_planted(explainer.explanation_, dataset, chosen))}")
        for number, recourse in enumerate(evidence.recourses, start=1):
            print(f"  {number}. {recourse.summary}: {recourse.verdict.sentence}", flush=True)


def _is_followed(verdict: Verdict) -> bool:
    """Whether other models follow a rule and nothing speaks against it."""
    speaks = {finding.question: finding.speaks for finding in verdict.findings}
    return speaks.get("other models") == "for" and "against" not in speaks.values()


def _words(truth: PlantedTruth) -> str:
    shares = {"cured": truth.share_cured, "precision": truth.precision, "recall": truth.recall}
    known = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share is not None)
    return f"{truth.counterfactuals} counterfactuals, {known}"


if __name__ == "__main__":
    main()
