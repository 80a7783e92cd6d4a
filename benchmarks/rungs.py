"""Vector recourses on a rung of the ladder of changes, and what two panels say of them.

    python benchmarks/rungs.py --dataset aids --checkpoints DIR --changes plausible --time-budget 240 --panels DIR

The second panel shares no seed with the first, so it tells how much of what one panel confirms is about the data.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import released
from comrecgc.algorithms.base import VectorChoice
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.registry import Vectors
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.models import PanelTraining, obtain_panel
from comrecgc.molecules import ladder_of
from comrecgc.run import RunContext


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    released.add_arguments(parser)
    parser.add_argument("--changes", default="plausible", help="any, connected, plausible or confirmed")
    parser.add_argument("--time-budget", type=float)
    parser.add_argument("--delta", type=float, default=0.02)
    parser.add_argument("--panels", type=Path, help="folder of trained panels")
    arguments = parser.parse_args()
    subject = released.load(arguments)
    dataset = subject.dataset
    panels = [obtain_panel(dataset, training=PanelTraining(number=k), folder=arguments.panels)[0] for k in (0, 1)]
    explainer = CommonRecourseExplainer(
        subject.classifier,
        Vectors(embedder=subject.embedder, changes=arguments.changes, choice=VectorChoice(delta=arguments.delta)),
        panel=panels[0],
        theta=released.theta_of(arguments),
        context=RunContext(time_budget=arguments.time_budget, jobs=2),
    )
    started = time.monotonic()
    found = explainer.fit(dataset).explanation_
    curve = found.coverage_curve
    print(f"{dataset.name}, {arguments.changes}, {time.monotonic() - started:.0f} s: {len(found.inputs)} rejects")
    for count in (1, 10, 100):
        print(f"  R = {count}: {curve[min(count, len(curve)) - 1] if curve else 0:.1%}")
    print(f"  { ({name: round(value or 0, 3) for name, value in found.metrics.items() if 'share' in name}) }")
    for number, panel in enumerate(panels, start=1):
        ladder = ladder_of(dataset, dataset.label_names)
        share = confirmed(found, Plausibility(ladder=ladder, panel=panel))
        print(f"  panel {number} accepts the counterfactual of {share:.1%} of the rejects")
    print(f"  {'; '.join(found.notes[-2:])}", flush=True)


def confirmed(found: Explanation, plausibility: Plausibility) -> float:
    """Share of all rejects whose counterfactual most of the panel accept."""
    members = [member for recourse in found.recourses for member in recourse.covered]
    before = [found.inputs[member.input].graph for member in members]
    verdicts = plausibility.judge(before, [member.counterfactual for member in members])
    return verdicts.coverage(len(found.inputs)).get("confirmed_coverage", 0.0)


if __name__ == "__main__":
    main()
