"""Time budgets side by side: have rules that are found under a budget the rates that they have without one?

    python benchmarks/budgets.py BBBP.csv --budgets 20 60 180

Explains a table once without a budget and once with each. The rate of a rule among all molecules should lie in the interval that the run with the budget
gives, nineteen times in twenty.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from comrecgc import CommonRecourseExplainer, GraphDataset, Rules, RunContext, load_dataset
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.data import TableReading
from comrecgc.models import Classifier, ClassifierTraining, train_classifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--budgets", type=float, nargs="+", default=[20, 60, 180])
    options = parser.parse_args()
    dataset = load_dataset(str(options.table), reading=TableReading(on_error="skip"))
    model = train_classifier(dataset, ClassifierTraining()).model
    whole, longest = fitted(model, dataset, None)
    assert whole.mined_ is not None
    table = whole.mined_.table
    row_of = {int(key): row for row, key in enumerate(table.rules.key)}
    print(
        "| budget, s | seconds | molecules tried | turned | 95% of it | rules | in the whole table | rate in their interval |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for budget in (*options.budgets, None):
        found, seconds = (whole, longest) if budget is None else fitted(model, dataset, budget)
        assert found.mined_ is not None
        explanation, keys = found.explanation_, found.mined_.table.rules.key
        known = [(it.statistics or {}, row_of.get(int(keys[it.row or 0]))) for it in explanation.recourses]
        same = [(own["interval"], table.success[row]) for own, row in known if row is not None]
        inside = sum(low <= rate <= high for (low, high), rate in same)
        tried = len(explanation.inputs)
        low, high = wilson_interval(round(explanation.coverage * tried), tried)
        print(
            f"| {budget or 'none'} | {seconds:.0f} | {tried} | {explanation.coverage:.1%} | {low:.1%}–{high:.1%} | {len(known)} | {len(same)} | {inside} |",
            flush=True,
        )


def fitted(model: Classifier, dataset: GraphDataset, budget: float | None) -> tuple[CommonRecourseExplainer, float]:
    """What is found within a budget, and the seconds it took; the panel takes no part in the rates."""
    begun = time.monotonic()
    explainer = CommonRecourseExplainer(model, Rules(), panel=False, context=RunContext(jobs=1, time_budget=budget))
    return explainer.fit(dataset), time.monotonic() - begun


if __name__ == "__main__":
    main()
