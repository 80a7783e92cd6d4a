"""Every experiment of the paper by name, with its number in the paper and its approximate running time here."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from comrecgc.errors import InputError
from comrecgc_reproduction.coverage import (
    ablation_table,
    fc_table,
    fcr_table,
    fine_table,
    globalgce_table,
    grid_table,
    local_table,
    models_table,
    social_table,
    ten_table,
)
from comrecgc_reproduction.differences import differences_table
from comrecgc_reproduction.figures import draw_curves, draw_recourses
from comrecgc_reproduction.page import write_page
from comrecgc_reproduction.runner import Runner
from comrecgc_reproduction.statistics import accuracy_table, datasets_table, times_table
from comrecgc_reproduction.tables import Table
from comrecgc_reproduction.theory import theory_table


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or figure of the paper.

    Args:
        name: Name on the command line.
        number: Its number in the paper.
        title: Its title.
        run: Function that computes a table, or writes the file of a figure.
        quick: Processor minutes at the quick scale, run alone with compiled kernels; compilation takes about two more, once.
        full: Approximate processor minutes per seed at the full scale, run alone with the released models.
    """

    name: str
    number: str
    title: str
    run: Callable[[Runner], Table | Path]
    quick: float
    full: float

    def __str__(self) -> str:
        full = f"{self.full:g} min" if self.full < 60 else f"{self.full / 60:.1f} h"
        return f"{self.name:10} {self.number}: {self.title} (quick {self.quick:g} min, full {full} a seed)"

    def carry_out(self, runner: Runner) -> Path:
        """Run the experiment and save the result; returns the file to look at."""
        result = self.run(runner)
        if isinstance(result, Path):
            return result
        result.save(runner.folder)
        return runner.folder / f"{result.name}.md"


def _page(runner: Runner) -> Path:
    return write_page(runner, [each for each in EXPERIMENTS.values() if each.name != "page"])


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(name="datasets", number="Table 1", title="the datasets", run=datasets_table, quick=0.1, full=0.2),
        Experiment(name="accuracy", number="Tables 2 and 10 to 12", title="accuracy of the classifiers", run=accuracy_table, quick=0.5, full=4),
        Experiment(name="fcr", number="Table 3", title="FCR: GCFExplainer, COMRECGC with 2 to 6 heads, ours", run=fcr_table, quick=1.1, full=150),
        Experiment(name="fc", number="Table 4", title="FC: data, LocalRW, GCFExplainer, COMRECGC, ours", run=fc_table, quick=1.2, full=150),
        Experiment(name="curves", number="Figure 2", title="FC: coverage and length against R", run=draw_curves, quick=1.1, full=140),
        Experiment(name="ten", number="Table 5", title="ten explanations: recourses against graphs", run=ten_table, quick=1.1, full=150),
        Experiment(name="grid", number="Table 6", title="θ and Δ", run=grid_table, quick=0.8, full=50),
        Experiment(name="fine", number="Table 7", title="Δ on Mutagenicity in small steps", run=fine_table, quick=0.1, full=18),
        Experiment(name="times", number="Table 8", title="running times by stage", run=times_table, quick=0.7, full=115),
        Experiment(name="ablation", number="Table 9", title="ablation: without clusters, without several heads", run=ablation_table, quick=0.9, full=65),
        Experiment(name="models", number="Tables 13 to 15", title="GAT, GraphSAGE and GIN", run=models_table, quick=1.4, full=120),
        Experiment(name="social", number="Table 16", title="IMDB-BINARY and IMDB-MULTI", run=social_table, quick=0.5, full=30),
        Experiment(name="local", number="Table 17", title="CF-GNNExplainer", run=local_table, quick=1.1, full=140),
        Experiment(name="globalgce", number="no table", title="rules on the datasets of GlobalGCE", run=globalgce_table, quick=0.4, full=14),
        Experiment(name="pictures", number="Figures 1, 3 and 4", title="common recourses on Mutagenicity", run=draw_recourses, quick=3.4, full=3),
        Experiment(name="differences", number="all tables", title="values that differ: what was varied, and the range", run=differences_table, quick=0.8, full=170),
        Experiment(name="theory", number="section 2, appendices B and C", title="the theory as checks", run=theory_table, quick=0.1, full=0.2),
        Experiment(name="page", number="every table", title="the page of the documentation, from the cells there are", run=_page, quick=0.1, full=0.1),
    )
}  # fmt: skip

ALL = "all"


def experiments_of(names: list[str]) -> list[Experiment]:
    """Experiments by their names; every one if "all" is among them."""
    for name in names:
        if name not in (*EXPERIMENTS, ALL):
            near = difflib.get_close_matches(name, [*EXPERIMENTS, ALL], n=1, cutoff=0.0)
            raise InputError(
                f"Experiments are {', '.join(EXPERIMENTS)}, or {ALL} (got {name!r}; did you mean {near[0]}?)"
            )
    return list(EXPERIMENTS.values()) if ALL in names else [EXPERIMENTS[name] for name in names]
