"""What rules cover: `python benchmarks/rule_coverage.py --dataset NAME --checkpoints DIR [--changes RUNG] [--panels DIR]`.

Mines the rules of a released classifier once and chooses from their table: by number of rules and of changes, by radius, with and without a least success,
on unseen graphs, for confirmed coverage, with the seconds and memory of every stage. `--second-panel` asks a panel that took no part in the
choice. One row of JSON at the end.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import NUM_SPLITS, SLACK, RuleFilter, choose, held_out
from comrecgc.algorithms.rules.mined import MinedRules, mine_rules
from comrecgc.data import load_dataset, paper_theta
from comrecgc.explanation import RuleChooser
from comrecgc.graphs import GraphBatch
from comrecgc.models import Panel, PanelTraining, load_classifier, obtain_panel, predict
from comrecgc.molecules import ladder_of
from comrecgc.run import RunContext, reproducible

BUDGETS = (1, 3, 10, 100)


def covered(mined: MinedRules, wishes: RuleFilter) -> str:
    curve = choose(mined.table, BUDGETS[-1], wishes).curve
    shares = [curve[min(budget, len(curve)) - 1] if len(curve) else 0.0 for budget in BUDGETS]
    return " / ".join(f"{share:.1%}" for share in shares)


def confirmed_share(
    panel: Panel, mined: MinedRules, task: Task[Rules], plausibility: Plausibility
) -> tuple[float, int]:
    """Share of the inputs whose shown counterfactual most of a panel accept, and how many are shown."""
    explanation = RuleChooser.of(task, mined, plausibility).explain()
    graphs = [member.counterfactual for recourse in explanation.recourses for member in recourse.covered]
    votes = panel.confirms(GraphBatch.from_graphs(graphs)) if graphs else np.zeros(0, bool)
    return float(votes.sum()) / max(len(explanation.inputs), 1), len(graphs)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--changes", default="plausible", choices=("any", "connected", "plausible", "confirmed"))
    parser.add_argument("--max-changes", type=int, default=2)
    parser.add_argument("--panels", type=Path, help="where panels are kept")
    parser.add_argument("--second-panel", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    name = options.dataset
    dataset = load_dataset(name)
    classifier = load_classifier(options.checkpoints / name / "classifier.pth")
    panel, sentence = obtain_panel(dataset, folder=options.panels)
    plausibility = Plausibility(
        ladder=ladder_of(dataset.graphs, dataset.label_names), panel=panel, why_no_panel=sentence
    )
    rules = Rules(changes=options.changes, max_changes=options.max_changes, choose="coverage")
    task = Task(algorithm=rules, theta=paper_theta(name))
    started, busy = time.perf_counter(), time.process_time()
    with reproducible():
        rejects = Rejects.of(dataset, predict(classifier, dataset))
        mined = mine_rules(task, rejects, classifier, plausibility, RunContext(jobs=options.jobs))
        mining = time.perf_counter() - started
        explanation = RuleChooser.of(task, mined, plausibility).explain(classifier)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    print(f"{name}, {options.changes}, {len(rejects)} rejects, {len(mined.table)} rules; R = 1 / 3 / 10 / 100")
    for most in range(1, options.max_changes + 1):
        print(f"up to {most} changes             {covered(mined, RuleFilter(max_changes=most))}")
    for radius in (0, 1, 2):
        print(f"radius {radius} alone              {covered(mined, RuleFilter(radii=(radius,)))}")
    wishes = rules.wishes()
    print(f"success of at least 50%     {covered(mined, replace(wishes, min_success=0.5))}")
    if panel is not None:
        print(f"chosen for confirmed        {covered(mined, replace(wishes, confirmed=True))}")
    folds = np.random.default_rng(0).permutation(len(rejects)) % NUM_SPLITS
    for slack, least in ((SLACK, 0.0), (0.0, 0.0), (0.1, 0.0), (0.2, 0.0), (SLACK, 0.25), (SLACK, 0.5)):
        unseen = held_out(mined.table, 10, replace(wishes, min_success=least), folds, slack=slack)
        assert unseen is not None
        print(
            f"held out, R = 10, slack {slack:.0%}, least success {least:.0%}: coverage {unseen.coverage:.1%} "
            f"(seen {unseen.seen_coverage:.1%}), success {unseen.success:.1%}"
        )
    metrics = explanation.metrics
    print(
        f"R = 10: coverage {explanation.coverage:.1%}, bound {metrics['coverage_bound']:.1%}, confirmed {metrics.get('confirmed_coverage')}"
    )
    if options.second_panel:
        other, _ = obtain_panel(dataset, training=PanelTraining(number=1), folder=options.panels)
        assert panel is not None
        assert other is not None
        confirmed = replace(task, algorithm=replace(rules, changes="confirmed"))
        for what, chosen in (("coverage", task), ("confirmed coverage", confirmed)):
            shares = [confirmed_share(each, mined, chosen, plausibility)[0] for each in (panel, other)]
            print(f"chosen for {what}: panel {shares[0]:.1%}, second panel {shares[1]:.1%}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{seconds:.0f} s ({mining:.0f} s mining), {busy:.0f} s of all cores together, {memory:.2f} GB")
    print(
        json.dumps(
            {
                "dataset": name,
                "changes": options.changes,
                "seconds": round(seconds, 1),
                "processor_seconds": round(busy, 1),
                "curve": explanation.coverage_curve,
            }
        )
    )


if __name__ == "__main__":
    main()
