"""The paper's tables of coverage: section 4 and appendix E, with our own methods in rows of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from comrecgc.experiments import paper
from comrecgc.experiments.laboratory import Laboratory, coverage, first_ten, length
from comrecgc.experiments.methods import Method, moving_walk, published, rules, source, summary, vectors
from comrecgc.experiments.paper import DATASETS, SOCIAL
from comrecgc.experiments.tables import OURS, PAPERS, Entry, Row, Table

BOTH = (coverage, length)
_RULES_NOTE = "Rules have no length: their distance is the cost of the change itself."


def fcr_table(laboratory: Laboratory) -> Table:
    """Table 3: FCR."""
    rows = [laboratory.row("GCFExplainer", PAPERS, source("gcfexplainer"), BOTH, paper.FCR_GCFEXPLAINER)]
    rows += [
        laboratory.row(f"COMRECGC, {heads} heads", PAPERS, published(heads), BOTH, printed)
        for heads, printed in paper.FCR_HEADS.items()
    ]
    rows += [laboratory.row("COMRECGC, 5 heads that advance", PAPERS, moving_walk(), BOTH), *_ours(laboratory, BOTH)]
    return _table(laboratory, "fcr", "Table 3", "Finding common recourse (FCR), R = 100", rows)


def fc_table(laboratory: Laboratory) -> Table:
    """Table 4: FC."""
    lines = (
        ("counterfactuals in the data", source("dataset", problem="fc"), paper.FC_DATASET),
        ("LocalRWExplainer", source("gcf-nearest", problem="fc"), paper.FC_LOCAL),
        ("GCFExplainer", source("gcfexplainer", problem="fc"), paper.FC_GCFEXPLAINER),
        ("COMRECGC", published(5, problem="fc"), paper.FC_COMRECGC),
        ("a walk around each input, as the text has it", source("local-walk", problem="fc"), None),
        ("COMRECGC, heads that advance", moving_walk(problem="fc"), None),
    )
    rows = [laboratory.row(name, PAPERS, method, BOTH, printed) for name, method, printed in lines]
    rows.append(laboratory.row("our vectors", OURS, vectors(problem="fc"), BOTH))
    return _table(laboratory, "fc", "Table 4", "Finding counterfactuals (FC), R = 100", rows)


def ten_table(laboratory: Laboratory) -> Table:
    """Table 5: ten explanations, recourses against graphs."""
    lines = (
        ("counterfactuals in the data", summary("dataset"), paper.TEN_DATASET),
        ("RCExplainer", summary("rcexplainer"), paper.TEN_RCEXPLAINER),
        ("CFF", summary("cff"), paper.TEN_CFF),
        ("GCFExplainer", summary("gcfexplainer"), paper.TEN_GCFEXPLAINER),
    )
    rows = [laboratory.row(name, PAPERS, method, (coverage,), printed) for name, method, printed in lines]
    rows.append(laboratory.row("COMRECGC", PAPERS, published(5), (first_ten,), paper.TEN_COMRECGC))
    rows.append(laboratory.row("COMRECGC, heads that advance", PAPERS, moving_walk(), (first_ten,)))
    rows += _ours(laboratory, (first_ten,))
    return _table(laboratory, "ten", "Table 5", "Ten explanations: common recourses against graphs", rows, both=False)


def grid_table(laboratory: Laboratory) -> Table:
    """Appendix: θ and Δ. The cells the paper could not compute are computed."""
    rows: list[Row] = []
    for (theta, delta), printed in paper.GRID.items():
        name = f"θ = {theta:g}, Δ = {delta:g}"
        rows.append(laboratory.row(name, PAPERS, published(5, delta=delta, theta=theta), BOTH, printed))
        rows.append(laboratory.row(name, OURS, vectors(delta=delta, theta=theta), BOTH))
    return _table(laboratory, "grid", "appendix", "Sensitivity to θ and Δ, R = 100", rows)


def fine_table(laboratory: Laboratory) -> Table:
    """Appendix: Δ on Mutagenicity, in smaller steps."""
    where = ("mutagenicity",)
    rows: list[Row] = []
    for delta, printed in paper.FINE_DELTA.items():
        rows.append(laboratory.row(f"Δ = {delta:g}", PAPERS, published(5, delta=delta), BOTH, printed, datasets=where))
        rows.append(laboratory.row(f"Δ = {delta:g}", OURS, vectors(delta=delta), BOTH, datasets=where))
    return _table(laboratory, "fine", "appendix", "Δ on Mutagenicity, θ = 0.1, R = 100", rows, datasets=where)


def ablation_table(laboratory: Laboratory) -> Table:
    """Appendix: without several heads, a real run of one head beside the row the paper copied."""
    copied = "without several heads: the row of GCFExplainer, as printed"
    unknown = tuple(Entry(printed=printed.coverage) for printed in paper.WITHOUT_CLUSTERING)
    rows = [
        laboratory.row("COMRECGC, 5 heads", PAPERS, published(5), (coverage,), paper.FCR_HEADS[5]),
        Row(name="without clustering", kind=PAPERS, entries=unknown),
        laboratory.row(copied, PAPERS, source("gcfexplainer"), (coverage,), paper.FCR_GCFEXPLAINER),
        laboratory.row("one head", PAPERS, published(1), (coverage,)),
    ]
    note = (
        "How the paper chose recourses without clusters is not known, so that row has its print alone: 200, 200, 200 and 124 inputs, "
        "two for each of a hundred recourses or fewer."
    )
    return _table(laboratory, "ablation", "appendix", "Ablation, FCR, R = 100", rows, both=False, notes=(note,))


def models_table(laboratory: Laboratory) -> Table:
    """Appendix: FCR for GAT, GraphSAGE and GIN. No such models were released; ours are trained as the paper says."""
    rows: list[Row] = []
    for model, (gcf, comrecgc) in paper.OTHER_MODELS.items():
        lines: tuple[tuple[str, str, Method, paper.Line | None], ...] = (
            ("GCFExplainer", PAPERS, source("gcfexplainer"), gcf),
            ("COMRECGC", PAPERS, published(5), comrecgc),
            ("our vectors", OURS, vectors(), None),
            ("rules, plausible changes", OURS, rules("plausible"), None),
        )
        rows += [
            laboratory.row(f"{model}: {name}", kind, method, BOTH, line, model=model)
            for name, kind, method, line in lines
        ]
    return _table(laboratory, "models", "appendix", "FCR for other networks, R = 100", rows)


def social_table(laboratory: Laboratory) -> Table:
    """Appendix: IMDB-BINARY and IMDB-MULTI. Nothing was released; models are trained here."""
    lines: tuple[tuple[str, str, Method, paper.Line | None], ...] = (
        ("GCFExplainer", PAPERS, source("gcfexplainer"), paper.SOCIAL_GCFEXPLAINER),
        ("COMRECGC", PAPERS, published(5), paper.SOCIAL_COMRECGC),
        ("our vectors", OURS, vectors(), None),
        ("rules, plausible changes", OURS, rules("plausible"), None),
    )
    rows = [
        laboratory.row(name, kind, method, BOTH, printed, datasets=SOCIAL, model="gin")
        for name, kind, method, printed in lines
    ]
    return _table(
        laboratory, "social", "appendix", "FCR on social networks, R = 100", rows, datasets=SOCIAL, model="gin"
    )


def local_table(laboratory: Laboratory) -> Table:
    """Appendix: CF-GNNExplainer."""
    rows = [
        laboratory.row("CF-GNNExplainer", PAPERS, source("cf-gnnexplainer"), BOTH, paper.CF_GNNEXPLAINER),
        laboratory.row("GCFExplainer", PAPERS, source("gcfexplainer"), BOTH, paper.FCR_GCFEXPLAINER),
        laboratory.row("COMRECGC", PAPERS, published(5), BOTH, paper.FCR_HEADS[5]),
        *_ours(laboratory, BOTH),
    ]
    return _table(laboratory, "local", "appendix", "Comparison with a local explainer, FCR, R = 100", rows)


def _ours(laboratory: Laboratory, read: Sequence[Callable[[dict[str, Any]], float | None]]) -> list[Row]:
    return [
        laboratory.row("our vectors, any change", OURS, vectors(), read),
        laboratory.row("rules, any change", OURS, rules("any"), read),
        laboratory.row("rules, plausible changes", OURS, rules("plausible"), read),
    ]


def _table(
    laboratory: Laboratory,
    name: str,
    number: str,
    title: str,
    rows: Sequence[Row],
    *,
    both: bool = True,
    datasets: Sequence[str] = DATASETS,
    model: str = "gcn",
    notes: Sequence[str] = (),
) -> Table:
    columns = [
        column for data in datasets for column in ((f"{data}, %", f"{data}, length") if both else (f"{data}, %",))
    ]
    has_rules = any("rules" in row.name for row in rows)
    return Table(
        name=name, number=number, title=title, columns=tuple(columns), rows=tuple(rows), digits=2 if both else 1,
        notes=(*notes, *((_RULES_NOTE,) if has_rules and both else ()), *laboratory.notes(datasets, model)),
    )  # fmt: skip
