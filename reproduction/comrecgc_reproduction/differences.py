"""Values of ours that differ from the paper's: settings are varied, and the range is compared with what the paper reports."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from comrecgc_reproduction import paper
from comrecgc_reproduction.methods import (
    Method,
    in_common_without_clusters,
    masks_without_isolated_nodes,
    published,
    source,
    summary,
)
from comrecgc_reproduction.paper import DATASETS
from comrecgc_reproduction.results import CachedResult
from comrecgc_reproduction.runner import Runner, coverage, length, versions
from comrecgc_reproduction.tables import Entry, Row, Table

Variant = Callable[[Runner], CachedResult | None]

_RC: tuple[dict[str, float], ...] = (
    {}, {"sparsity": 0.0}, {"sparsity": 0.01}, {"sparsity": 0.1}, {"factual": 0.5}, {"learning_rate": 0.01},
    {"sparsity": 0.1, "factual": 0.5}, {"entropy": 1.0},
)  # fmt: skip
_MODELS = (("gin", 15), ("sage", 14), ("gat", 13))
_FEW = 2  # variants of a figure where graphs are few
_ANY = 1e9  # a Δ that every vector is within


NEAR, NEAR_LENGTH = 2.0, 1.0
"""Points of coverage, and of length, within which a value is near the reported one."""


def gap(printed: paper.Printed, share: float, total: float | None) -> float:
    """Distance of a coverage and a length from the reported ones, at most 1 if both are near. Nothing is near a reported length without one."""
    gaps = [abs(share - float(printed.coverage or 0)) / NEAR]
    if printed.length is not None:
        gaps.append(math.inf if total is None else abs(total - printed.length) / NEAR_LENGTH)
    return max(gaps)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A value that differs.

    Args:
        name: Which value.
        varied: What was varied, in words.
        printed: What the paper printed: coverage, and the length of the recourses where it did.
        variants: The ways it was computed, by name; a cell each.
    """

    name: str
    varied: str
    printed: paper.Printed
    variants: dict[str, Variant]


def questions() -> tuple[Question, ...]:
    """The questions, the cheapest first."""
    return (
        Question(
            name="Table 6, proteins at Δ = 0.04",
            varied="min_samples 1, 2, 3, 5 and 10 at θ = 0.1; 2 to 6 heads; 10,000 steps; the defaults of the published script (τ = 0.1, 10,000 neighbours, min_samples 3); θ = 0.15",
            printed=paper.GRID[0.1, 0.04][DATASETS.index("proteins")],
            variants={
                **{f"min_samples {least}": _clusters(min_samples=least) for least in (1, 2, 3, 5, 10)},
                **{f"{heads} heads": _clusters(heads) for heads in (2, 3, 4, 6)},
                "10,000 steps": _clusters(num_steps=10_000),
                "defaults of the published script": _clusters(teleport=0.1, sample=10_000, min_samples=3),
                "θ = 0.15": _clusters(theta=None),
            },
        ),
        _about_small_steps(),
        *_about_fc("proteins"),
        *(_about_masks(dataset) for dataset in ("aids", "proteins", "nci1")),
        *(_about_edges(dataset) for dataset in ("mutagenicity", "proteins")),
        *(_about_steps(dataset) for dataset in ("aids", "proteins", "nci1", "mutagenicity")),
        *(_about_training(dataset, *model) for dataset in ("aids", "proteins") for model in _MODELS),
        *(_about_classes(dataset, line) for dataset, line in zip(paper.SOCIAL, paper.SOCIAL_COMRECGC, strict=True)),
        *(
            _about_baseline(dataset, line)
            for dataset, line in zip(paper.SOCIAL, paper.SOCIAL_GCFEXPLAINER, strict=True)
        ),
    )


def _about_small_steps() -> Question:
    where, delta = "mutagenicity", 0.025

    def clusters(heads: int = 5, seed: int = 0, **options: Any) -> Variant:
        return lambda runner: runner.result(published(heads, delta=delta, **options), runner.setup(where), seed)

    return Question(
        name=f"Table 7, Δ = {delta:g}",
        varied="min_samples 1, 2, 3 and 5; seeds 0 to 2 of the walk; 4, 5 or 6 heads",
        printed=paper.FINE_DELTA[delta][0],
        variants={
            "as in Table 7": clusters(),
            **{f"min_samples {least}": clusters(min_samples=least) for least in (1, 2, 5)},
            **{f"seed {seed}": clusters(seed=seed) for seed in (1, 2)},
            **{f"{heads} heads": clusters(heads) for heads in (4, 6)},
        },
    )


def _about_fc(dataset: str) -> tuple[Question, Question]:
    """FC by COMRECGC and by the nearest counterfactuals of GCFExplainer."""

    def variants(method: Callable[..., Method]) -> dict[str, Variant]:
        def run(seed: int = 0, **options: Any) -> Variant:
            return lambda runner: runner.result(method(problem="fc", **options), runner.setup(dataset), seed)

        return {
            "as in Table 4": run(),
            **{f"min_samples {least}": run(min_samples=least) for least in (1, 3, 5)},
            **{f"seed {seed}": run(seed) for seed in (1, 2)},
        }

    varied = "min_samples 1, 2, 3 and 5; seeds 0 to 2 of the walk"
    return (
        Question(
            name=f"Table 4, COMRECGC on {dataset}",
            varied=varied,
            printed=_printed(paper.FC_COMRECGC, dataset),
            variants=variants(partial(published, 5)),
        ),
        Question(
            name=f"Table 4, LocalRWExplainer on {dataset}",
            varied=varied,
            printed=_printed(paper.FC_LOCAL, dataset),
            variants=variants(partial(source, "gcf-nearest")),
        ),
    )


def _about_masks(dataset: str) -> Question:
    return Question(
        name=f"Table 5, RCExplainer on {dataset}",
        varied="β 0, 0.001, 0.01, 0.1; λ 0, 0.5; μ 0, 1; learning rate 0.001, 0.01",
        printed=_printed(paper.TEN_RCEXPLAINER, dataset),
        variants={
            ", ".join(f"{key} {value:g}" for key, value in options.items()) or "our defaults": _masks(dataset, options)
            for options in _RC
        },
    )


def _about_edges(dataset: str) -> Question:
    varied: tuple[tuple[str, dict[str, Any]], ...] = (
        ("our defaults", {}),
        ("learning rate 0.01, momentum 0.9", {"learning_rate": 0.01, "momentum": 0.9}),
        *((f"min_samples {least}", {"min_samples": least}) for least in (1, 2, 5)),
    )

    def without_nodes(runner: Runner) -> CachedResult | None:
        return runner.seeded("cfgnnexplainer without isolated nodes", masks_without_isolated_nodes, dataset)[0]

    return Question(
        name=f"Table 17, CF-GNNExplainer on {dataset}",
        varied="both settings of its authors; min_samples 1, 2 and 5; nodes that lose their last edge dropped",
        printed=_printed(paper.CF_GNNEXPLAINER, dataset),
        variants={
            **{name: _recourses_of_masks(dataset, options) for name, options in varied},
            "nodes without an edge dropped": without_nodes,
        },
    )


def _recourses_of_masks(dataset: str, options: dict[str, Any]) -> Variant:
    return lambda runner: runner.results(source("cfgnnexplainer", **options), dataset)[0]


def _about_steps(dataset: str) -> Question:
    return Question(
        name=f"Table 9, without clusters on {dataset}",
        varied="2 or 5 heads; heads within Δ = 0.02, 0.04 or any distance share the lead's recourse",
        printed=_printed(paper.WITHOUT_CLUSTERING, dataset),
        variants={
            f"{heads} heads, {'any distance' if delta == _ANY else f'Δ = {delta:g}'}": _steps(dataset, heads, delta)
            for heads in (2, 5)
            for delta in (0.02, 0.04, _ANY)
        },
    )


def _about_training(dataset: str, model: str, table: int) -> Question:
    return Question(
        name=f"Table {table}, {model.upper()} on {dataset}",
        varied="training seeds 0 to 9: split, first weights, order of the graphs; a mean pool instead of the maximum",
        printed=_printed(paper.OTHER_MODELS[model][1], dataset),
        variants={
            **{f"seed {seed}": _trained(dataset, model, training_seed=seed) for seed in range(10)},
            "mean pool": _trained(dataset, model, pool="mean"),
        },
    )


_SWAPPED = {"swapped": True}


def _about_classes(dataset: str, printed: paper.Printed) -> Question:
    varied: tuple[tuple[str, str, float | None, dict[str, Any]], ...] = (
        *(
            (f"{model.upper()}, θ = {theta or 0.1:g}{', classes exchanged' if swapped else ''}", model, theta, swapped)
            for model in ("gin", "gcn")
            for swapped in ({}, _SWAPPED)
            for theta in (None, 0.15, 0.2)
        ),
        *((f"GIN, training seed {seed}", "gin", None, {"training_seed": seed}) for seed in range(1, 10)),
        *(
            (f"GIN, classes exchanged, training seed {seed}", "gin", None, {"training_seed": seed, **_SWAPPED})
            for seed in range(1, 10)
        ),
        ("GIN, mean pool", "gin", None, {"pool": "mean"}),
        *((f"GIN, graphs up to size {size}", "gin", None, {"most_size": size}) for size in (100, 200, 500)),
        *(
            (f"GIN, embedder trained {effort:g} times as long", "gin", None, {"effort": effort})
            for effort in (0.1, 0.3)
        ),
    )
    return Question(
        name=f"Table 16, {dataset}",
        varied="which class is rejected; GIN or GCN; θ = 0.1, 0.15, 0.2; training seeds 0 to 9; a mean pool; graphs of at most 100, 200 or 500 nodes and edges; an embedder trained for less",
        printed=printed,
        variants={
            name: _trained(dataset, model, theta=theta, **options) for name, model, theta, options in varied
        },
    )  # fmt: skip


def _about_baseline(dataset: str, printed: paper.Printed) -> Question:
    def walked(model: str, options: dict[str, Any]) -> Variant:
        return lambda runner: runner.result(source("gcfexplainer"), runner.setup(dataset, model, **options), 0)

    return Question(
        name=f"Table 16, GCFExplainer on {dataset}",
        varied="which class is rejected; GIN or GCN",
        printed=printed,
        variants={
            f"{model.upper()}{', classes exchanged' if swapped else ''}": walked(model, swapped)
            for model in ("gin", "gcn")
            for swapped in ({}, _SWAPPED)
        },
    )


def _printed(line: paper.Line, dataset: str) -> paper.Printed:
    return line[DATASETS.index(dataset)]


def _clusters(heads: int = 5, *, theta: float | None = 0.1, **options: Any) -> Variant:
    method = published(heads, delta=0.04, theta=theta, **options)
    return lambda runner: runner.results(method, "proteins")[0]


def _masks(dataset: str, options: dict[str, float]) -> Variant:
    return lambda runner: runner.results(summary("rcexplainer", **options), dataset)[0]


def _steps(dataset: str, heads: int, delta: float) -> Variant:
    reach = "any distance" if delta == _ANY else f"delta {delta:g}"

    def compute(runner: Runner) -> CachedResult | None:
        return runner.seeded(
            f"without clusters {heads} heads {reach}",
            lambda setup, seed: in_common_without_clusters(setup, seed, heads=heads, delta=delta),
            dataset,
        )[0]

    return compute


def _trained(dataset: str, model: str, *, theta: float | None = None, **varied: Any) -> Variant:
    return lambda runner: runner.result(published(5, theta=theta), runner.setup(dataset, model, **varied), 0)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The values that the variants of a question give.

    Args:
        question: The question.
        asked: Number of variants.
        cells: The cells of those that were run, by name of the variant.
    """

    question: Question
    asked: int
    cells: dict[str, CachedResult]

    @property
    def coverages(self) -> dict[str, float]:
        """Coverage in percent, by name of the variant."""
        return {name: share for name, cell in self.cells.items() if (share := coverage(cell)) is not None}

    @property
    def gaps(self) -> dict[str, float]:
        """Distance from the reported value, at most 1 if near, by name of the variant."""
        shares = self.coverages
        return {name: gap(self.question.printed, shares[name], length(self.cells[name])) for name in shares}

    @property
    def nearest(self) -> str:
        """The variant nearest to the reported value; empty if none was run."""
        return min(self.gaps, key=self.gaps.__getitem__, default="")


def answers(runner: Runner) -> list[Answer]:
    """Every question with what its variants gave."""
    found = []
    for question in questions():
        some = list(question.variants.items())[: None if runner.scale.most_graphs is None else _FEW]
        cells = {name: cell for name, variant in some if (cell := variant(runner)) is not None}
        found.append(Answer(question=question, asked=len(some), cells=cells))
    return found


def differences_table(runner: Runner) -> Table:
    """For each value what the paper reports, the range of the variants, the nearest variant, and how many variants are near, were run, and there are."""
    rows = []
    for answer in answers(runner):
        question, shares, nearest = answer.question, answer.coverages, answer.nearest
        figures: list[float | None] = (
            [min(shares.values()), max(shares.values()), shares[nearest]] if shares else [None] * 3
        )
        figures.append(length(answer.cells[nearest]) if nearest and question.printed.length is not None else None)
        entries = [Entry(missing=1) if figure is None else Entry(values=(figure,)) for figure in figures]
        close = sum(each <= 1 for each in answer.gaps.values())
        counts = [Entry(values=(float(count),)) for count in (close, len(shares), answer.asked)]
        entries[2:] = [
            replace(entry, printed=figure) for entry, figure in zip(entries[2:], question.printed, strict=True)
        ]
        rows.append(Row(name=f"{question.name} — {question.varied} — {nearest}", entries=(*entries, *counts)))
    return Table(
        name="differences", number="all tables", title="Values that differ, and what was varied",
        columns=("least, %", "greatest, %", "nearest, %", "nearest, length", "variants near", "variants run", "variants"), rows=tuple(rows),
        notes=(runner.scale.sentence, versions()),
    )  # fmt: skip


def variants_csv(runner: Runner) -> str:
    """Every variant that was run, with the reported value beside it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["value", "variant", "coverage", "length", "inputs", "reported", "reported length"])
    for answer in answers(runner):
        printed = answer.question.printed
        for name, cell in answer.cells.items():
            row = (coverage(cell), length(cell), cell.get("inputs"), printed.coverage, printed.length)
            writer.writerow([answer.question.name, name, *("" if value is None else f"{value:.6g}" for value in row)])
    return text.getvalue()
