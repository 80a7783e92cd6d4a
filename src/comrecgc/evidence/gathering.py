"""All evidence on an explanation or on a finished run: other models, matched pairs, unseen graphs, measures, random rules, controls, and a verdict on each recourse."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.inputs import ModelPair
from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs, single_changes
from comrecgc.algorithms.rules.choice import NUM_SPLITS, held_out, held_out_success, wilson_interval
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.evidence import controls, verdict
from comrecgc.evidence.evaluation import EvaluatedRun, data_of_run, run_witnesses
from comrecgc.evidence.verdict import (
    EVIDENCE,
    LEVELS,
    ControlEvidence,
    Evidence,
    Figures,
    RecourseEvidence,
    UnseenSuccess,
)
from comrecgc.explanation import CoveredInput, Explanation
from comrecgc.graphs import Familiarity, Graph, GraphBatch, Rung, apply_path, graph_key
from comrecgc.models import Panel, PanelTraining, checksum, obtain_panel
from comrecgc.run import Engine, Progress, RunContext, reproducible

if TYPE_CHECKING:
    from scipy.sparse import csr_array


SECOND_PANEL = PanelTraining(number=1)  # the panel that took no part in any choice

SECONDS_FOR_VECTORS = 60.0  # time for the search of vectors on a control

_SHARES = ("coverage", "confirmed_coverage", "second_panel_coverage", "strong_coverage", "backed_coverage")
_COUNTS = ("num_inputs", "pairs_as_said", "pairs_against", *LEVELS)


def gather(
    subject: EvaluatedRun,
    *,
    second_panel: Panel | PanelTraining = SECOND_PANEL,
    with_controls: bool = True,
    folder: Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Gather all evidence on an explanation; the second panel took no part in the choice.

    Controls take most of the time. Trained models are kept in `folder`, or in the user's cache.
    """
    second: Panel | None
    notes: list[str] = []
    trained: dict[str, Any] = {"folder": folder, "engine": engine, "progress": progress}
    if isinstance(second_panel, Panel):
        second = second_panel
    else:
        second, sentence = obtain_panel(subject.dataset, training=second_panel, **trained)
        notes.append(f"Second panel: {sentence}")
    recourses, figures, random = _examined(subject, second, progress)
    rows = [ControlEvidence(name="explained model", figures=_control_figures(figures, recourses))]
    if random is not None:
        rows.append(_random_control(random, recourses))
    if with_controls and subject.explanation.inputs:
        shuffled = controls.shuffled_labels(subject, **trained)
        for ignorant, panel in ((controls.random_weights(subject), second), ((shuffled,) if shuffled else (), None)):
            if ignorant:
                if progress is not None:
                    progress(f"control: {ignorant[0].name}", len(rows), 4, "")
                rows.append(_control(ignorant, subject, panel))
    explanation = subject.explanation
    each, whole = plausibility(subject)
    recourses = [replace(it, plausibility=known) for it, known in zip(recourses, each, strict=True)]
    return Evidence(
        dataset=explanation.schema.dataset, recourse=explanation.recourse, changes=explanation.changes,
        recourses=tuple(recourses), controls=tuple(rows), figures={**figures, **whole},
        reviewers=reviewers_figures(subject, figures, whole, recourses), notes=tuple(notes),
    )  # fmt: skip


def _examined(
    subject: EvaluatedRun, second: Panel | None, progress: Progress | None = None
) -> tuple[list[RecourseEvidence], dict[str, float | int | None], controls.RandomControl | None]:
    """Evidence on each recourse and on the explanation, without controls."""
    explanation = subject.explanation
    first = subject.plausibility.panel
    chosen_with = explanation.changes == "confirmed" or subject.wishes.confirmed
    panels = [(panel, used) for panel, used in ((first, chosen_with), (second, False)) if panel is not None]
    classes = subject.dataset.classes

    tell: Progress = progress or (lambda *_: None)
    said: Sequence[tuple[verdict.Answer, ...]] = [()] * len(subject.results)
    if panels:
        said = verdict.answers(subject.results, panels, classes)
    tell("evidence", 1, 3, "other models")
    pairs, similar = _pairs(subject)
    tell("evidence", 2, 3, "matched pairs")
    random = controls.random_rules(subject)
    if random is not None and panels:
        said = verdict.compared(said, verdict.answers(random.results, panels))
    tell("evidence", 3, 3, "random changes")
    splits = unseen(subject)
    found = []
    for place, recourse in enumerate(explanation.recourses):
        applicable, accepted = (int(recourse.statistics.get(name) or 0) for name in ("applicable", "accepted"))
        success = accepted / applicable if applicable else None
        held = tuple(UnseenSuccess(it.split, it.success[place], it.seen_success[place]) for it in splits)
        known: dict[str, Any] = {"answers": said[place], "pairs": pairs[place], "similar": similar[place]}
        known |= {"success": success, "unseen": held, "random": None if random is None else random.like[place]}
        judged = verdict.judge(
            **known,
            interval=None if success is None else wilson_interval(accepted, applicable),
            labelled=subject.labelled_reject(place),
            share_reject=float((classes == 0).mean()),
        )
        found.append(RecourseEvidence(summary=recourse.summary, verdict=judged, **known))
    before, after = explanation.counterfactuals
    num = len(explanation.inputs)
    turned: dict[str, set[int]] = {level: set() for level in LEVELS}
    for evidence, recourse in zip(found, explanation.recourses, strict=True):
        turned[evidence.verdict.level] |= {member.input for member in recourse.covered} | set(recourse.also_covers)
    figures: dict[str, float | int | None] = {
        "num_inputs": num,
        "coverage": explanation.coverage,
        "confirmed_coverage": None if first is None else verdict.confirmed_share(first, before, after, num),
        "second_panel_coverage": None if second is None else verdict.confirmed_share(second, before, after, num),
        "strong_coverage": len(turned["strong"]) / max(num, 1),
        "backed_coverage": len(turned["strong"] | turned["mixed"]) / max(num, 1),
        **{f"held_out_coverage_{split.split}": split.coverage for split in splits},
    }
    return found, figures, random


def _pairs(subject: EvaluatedRun) -> tuple[list[MatchedPairs], list[tuple[MatchedPairs, ...]]]:
    """For each recourse the pairs that differ by it, and those that differ by each of its changes alone; none for vectors."""
    recourses = subject.explanation.recourses
    if subject.explanation.recourse == "vectors":
        return [MatchedPairs()] * len(recourses), [()] * len(recourses)
    graphs, rules = LabelledGraphs(subject.dataset), [it.rule for it in recourses if it.rule is not None]
    parts = [part for rule in rules for part in (rule, *single_changes(rule))]
    known = {part: replace(graphs.pairs(part), listed=()) for part in parts}  # the explanation lists them
    return [known[rule] for rule in rules], [tuple(known[part] for part in single_changes(rule)) for rule in rules]


def _control(
    ignorant: Sequence[controls.ControlClassifier], subject: EvaluatedRun, second: Panel | None
) -> ControlEvidence:
    """The control evidence of uninformed classifiers of one name, from the same pipeline and questions."""
    seconds = None if subject.task.recourse == "rules" else SECONDS_FOR_VECTORS
    found = []
    for one in ignorant:
        recourses, figures, _ = _examined(controls.explain_control(one, subject, seconds), second)
        found.append(_control_figures(figures, recourses))
    return ControlEvidence(name=ignorant[0].name, figures={name: _pooled(name, found) for name in found[0]})


def _pooled(name: str, found: Sequence[Figures]) -> float | int | None:
    """A figure of several classifiers together: the sum of counts, the mean of shares."""
    known = [value for figures in found if (value := figures[name]) is not None]
    if name in _COUNTS:
        return int(sum(known))
    return float(np.mean(known)) if known else None


def _control_figures(figures: Figures, recourses: Sequence[RecourseEvidence]) -> Figures:
    pairs = sum((recourse.pairs for recourse in recourses), MatchedPairs())
    turned = [answer.share_turned for recourse in recourses for answer in recourse.answers if not answer.chosen_with]
    known = [share for share in turned if share is not None]
    levels = [recourse.verdict.level for recourse in recourses]
    return {
        "num_inputs": figures.get("num_inputs"),
        **{name: figures.get(name) for name in _SHARES},
        "turned_in_other_models": float(np.mean(known)) if known else None,
        "pairs_as_said": pairs.as_said,
        "pairs_against": pairs.against,
        **{level: levels.count(level) for level in LEVELS},
    }


def _random_control(random: controls.RandomControl, recourses: Sequence[RecourseEvidence]) -> ControlEvidence:
    """Effect of random changes on the explained model, and, where they turn it, on other models."""
    known = [answer.random_share for recourse in recourses for answer in recourse.answers]
    shares = [share for share in known if share is not None]
    applicable, accepted = (sum(getattr(like, name) for like in random.like) for name in ("applicable", "accepted"))
    return ControlEvidence(
        name="random changes",
        figures={
            "coverage": random.coverage,
            "success": accepted / applicable if applicable else None,
            "turned_in_other_models": float(np.mean(shares)) if shares else None,
        },
    )


def run_evidence(
    folder: str | Path,
    dataset: GraphDataset,
    models: ModelPair,
    context: RunContext,
    *,
    with_controls: bool = True,
    second_panel: PanelTraining | None = None,
    cache: Path | None = None,
) -> Evidence:
    """Gather the evidence on a run and write it to its folder.

    Args:
        folder: The run folder.
        dataset: The data that the run explained.
        models: The classifier that was explained, and the embedder.
        context: Cores, cluster and progress.
        with_controls: Whether uninformed classifiers are explained too, as controls.
        second_panel: Training of the models that took no part in the choice.
        cache: Where trained models are kept; None for the user's cache.
    """
    folder = Path(folder)
    explanation = Explanation.load(folder)
    dataset = data_of_run(folder, explanation, dataset)
    with reproducible():
        subject = EvaluatedRun.of_run(folder, explanation, models, dataset)
        evidence = gather(
            replace(subject, shown_again=_witnessed(folder, explanation)), with_controls=with_controls, folder=cache,
            engine=context.engine, progress=context.report, second_panel=second_panel or SECOND_PANEL,
        )  # fmt: skip
    evidence = replace(evidence, explanation=checksum(folder / "explanation.json"))
    evidence.save(folder)
    return evidence


def load_evidence(folder: str | Path) -> Evidence | None:
    """The evidence in a run folder; None if there is none for the explanation it holds now."""
    path = Path(folder) / EVIDENCE
    if not path.exists():
        return None
    evidence = Evidence.load(path)
    return evidence if evidence.explanation == checksum(Path(folder) / "explanation.json") else None


def _witnessed(folder: Path, explanation: Explanation) -> list[list[tuple[Graph, Graph]]]:
    """Results of vectors for inputs that an earlier vector covers already."""
    witnesses = run_witnesses(folder, explanation)
    if explanation.recourse != "vectors" or witnesses is None:
        return []
    found: list[list[tuple[Graph, Graph]]] = [[] for _ in explanation.recourses]
    also = {(place, index) for place, it in enumerate(explanation.recourses) for index in it.also_covers}
    for place, index, graph in witnesses.claims.tolist():
        if (place, index) in also and graph < len(witnesses.graphs):
            found[place].append((explanation.inputs[index].graph, witnesses.graphs[graph]))
    return found


# Measures of recourses beyond coverage: success on unseen graphs, plausibility of the results, and the names that reviewers know.


MOST_COUNTERFACTUALS = 400  # counterfactuals that are looked at, of all recourses together; at least five of each

_TYPICAL = 0.9  # of real accepted graphs lie as near to another


def plausibility(subject: EvaluatedRun) -> tuple[list[dict[str, float | int | None]], dict[str, float | int | None]]:
    """Figures of each recourse, and of them all.

    `share_connected`, `share_plausible`: counterfactuals on that rung or above. `share_valid`: valid molecules. `nearest`: median distance to the
    nearest real accepted graph, one less the share of nodes that find a partner of the same surroundings there. `share_typical`: counterfactuals no farther from
    one than nine in ten of the real ones are. `share_minimal`: counterfactuals from which no single edit can be omitted.
    """
    explanation = subject.explanation
    shown = [_sampled(subject, place) for place in range(len(explanation.recourses))]
    flat = [member for members in shown for member in members]
    if not flat:
        return [{} for _ in shown], {}
    before = [explanation.inputs[member.input].graph for member in flat]
    after = [member.counterfactual for member in flat]
    rungs = subject.plausibility.judge(before, after, np.zeros(len(flat), bool)).rungs
    near, usual = _nearest(subject, after)
    spare = minimal(subject, flat, before)
    columns = {
        "share_connected": rungs >= Rung.CONNECTED,
        "share_plausible": rungs >= Rung.PLAUSIBLE,
        "share_typical": near <= np.quantile(usual, _TYPICAL) if len(usual) else np.zeros(len(near), bool),
        "share_minimal": spare,
    }
    ends = np.cumsum([len(members) for members in shown])
    figures = []
    for recourse, start, end in zip(explanation.recourses, ends - [len(it) for it in shown], ends, strict=True):
        part = slice(int(start), int(end))
        own = {name: _mean(values[part]) for name, values in columns.items()} | {"share_valid": recourse.share_valid}
        figures.append(own | {"nearest": float(np.median(near[part])) if end > start else None})
    whole: dict[str, float | int | None] = {name: _mean(values) for name, values in columns.items()}
    whole |= {
        "nearest": float(np.median(near)),
        "nearest_of_real_graphs": float(np.median(usual)) if len(usual) else None,
        "diversity": diversity(explanation),
    }
    return figures, whole


def diversity(explanation: Explanation) -> float | None:
    """Mean Jaccard distance of the covered inputs over pairs of recourses."""
    sets = [{member.input for member in it.covered} | set(it.also_covers) for it in explanation.recourses]
    unlike = [1 - len(a & b) / len(a | b) for a, b in itertools.combinations(sets, 2) if a | b]
    return float(np.mean(unlike)) if unlike else None


def _sampled(subject: EvaluatedRun, place: int) -> list[CoveredInput]:
    covered = subject.explanation.recourses[place].covered
    rng = np.random.default_rng([subject.seed, 25, place])
    most = max(5, MOST_COUNTERFACTUALS // len(subject.explanation.recourses))
    return [covered[k] for k in np.sort(rng.permutation(len(covered))[:most]).tolist()]


def _nearest(subject: EvaluatedRun, graphs: Sequence[Graph]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Distance of graphs to the nearest real accepted graph, and of real accepted graphs to the nearest other."""
    real = [graph for graph, label in zip(subject.dataset.graphs, subject.dataset.classes, strict=True) if label == 1]
    if len(real) < 2:
        return np.ones(len(graphs)), np.zeros(0)
    batch = GraphBatch.from_graphs([*real, *graphs])
    shapes = _shapes(batch, subject.plausibility.ladder.familiarity)
    sizes = batch.node_counts()
    found = []
    for rows, own in ((np.arange(len(real), len(batch)), False), (np.arange(len(real)), True)):
        least = np.ones(len(rows))
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            shared = (shapes[part] @ shapes[: len(real)].T).toarray()
            gaps = 1 - 2 * shared / (sizes[part][:, None] + sizes[None, : len(real)])
            if own:
                gaps[np.arange(len(part)), part] = 2.0
            least[start : start + 500] = gaps.min(axis=1)
        found.append(least)
    return found[0], found[1]


def _shapes(batch: GraphBatch, familiarity: Familiarity) -> csr_array:
    """The surroundings of each graph's nodes as a 0/1 table, with a column for the k-th node of each kind; products count shared surroundings."""
    from scipy.sparse import csr_array

    owners, hashes = batch.graph_of_node(), familiarity.hashes(batch)
    order = np.lexsort((hashes, owners))
    owner, name = owners[order], hashes[order]
    starts = np.r_[True, (owner[1:] != owner[:-1]) | (name[1:] != name[:-1])]
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    _, column = np.unique(np.stack([name, rank.astype(np.uint64)], axis=1), axis=0, return_inverse=True)
    column = column.ravel()
    return csr_array((np.ones(len(order)), (owner, column)), shape=(len(batch), int(column.max()) + 1))


def minimal(subject: EvaluatedRun, members: Sequence[CoveredInput], before: Sequence[Graph]) -> npt.NDArray[np.bool_]:
    """Counterfactuals from which no single edit can be omitted: the rest is rejected, off the rung, or impossible."""
    owners, made = list[int](), list[Graph]()
    for place, (member, graph) in enumerate(zip(members, before, strict=True)):
        path = member.edits
        for k in range(len(path)) if len(path) > 1 else ():
            try:
                made.append(apply_path(graph, (*path[:k], *path[k + 1 :])))
            except InputError:
                continue
            owners.append(place)
    needed = np.ones(len(members), bool)
    if made:
        accepted = subject.classifier.accept_probability(GraphBatch.from_graphs(made)) > 0.5
        kept = np.flatnonzero(accepted).tolist()
        rungs = subject.plausibility.judge(
            [before[owners[k]] for k in kept], [made[k] for k in kept], np.zeros(len(kept), bool)
        ).rungs
        least = min(Rung.parse(subject.explanation.changes), Rung.PLAUSIBLE)
        for k, rung in zip(kept, rungs.tolist(), strict=True):
            if rung >= least:
                needed[owners[k]] = False
    return needed


def _mean(values: npt.NDArray[np.bool_]) -> float | None:
    return float(values.mean()) if len(values) else None


# Our figures under the names that papers on counterfactual and graph explanations use; `docs/trust.md` says whose names they are.


def reviewers_figures(
    subject: EvaluatedRun, figures: Figures, plausible: Figures, recourses: Sequence[RecourseEvidence]
) -> Mapping[str, float | int | None]:
    """Figures of the explanation, of the likeness of counterfactuals to the data, and of each recourse by those names; means over the counterfactuals shown."""
    explanation = subject.explanation
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    if not members:
        return {}
    sizes = np.array([explanation.inputs[member.input].graph.size for member in members])
    edits = np.array([member.num_edits for member in members])
    is_indexed = all(index < len(subject.dataset) for index in explanation.inputs)
    labels = subject.dataset.classes[[member.input for member in members]] if is_indexed else None
    accepted = verdict.accepts(subject.classifier, [member.counterfactual for member in members])
    shares = [
        answer.share_turned for it in recourses for answer in it.answers if not answer.chosen_with and answer.share_turned is not None
    ]  # fmt: skip
    successes = [it.success for it in recourses if it.success is not None]
    return {
        "validity": float(accepted.mean()),
        "coverage": explanation.coverage,
        "proximity": float(np.mean([member.distance for member in members])),
        "edit_distance": float(edits.mean()),
        "sparsity": float(np.mean(1 - np.minimum(edits / sizes, 1.0))),
        "plausibility": plausible.get("share_plausible"),
        "typicality": plausible.get("share_typical"),
        "robustness": float(np.mean(shares)) if shares else None,
        "stability": figures.get("held_out_coverage_random"),
        "sufficiency": float(np.mean(successes)) if successes else None,
        "necessity": plausible.get("share_minimal"),
        "fidelity": None if labels is None else float(np.mean(np.where(labels == 0, 1.0, -1.0))),
        "diversity": plausible.get("diversity"),
        "runtime_seconds": sum(explanation.facts.seconds.values()) or None,
        "oracle_calls": explanation.metrics.get("oracle_calls"),
    }


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """Coverage and success of rules on graphs they were not chosen on, "random" ones or whole scaffolds, and on those they were; means over five splits.

    `success` has the share of each rule of the explanation, None if it cannot be carried out on any graph.
    """

    split: str
    coverage: float
    success: tuple[float | None, ...]
    seen_success: tuple[float | None, ...]


def unseen(subject: EvaluatedRun) -> list[Unseen]:
    """Coverage and success on unseen graphs, for a random split and, for molecules, a split by scaffold.

    Molecules of one scaffold are alike, so a random split leaves near copies on both sides; a split by scaffold keeps them on one. Empty for vectors
    and for fewer than ten inputs.
    """
    if subject.mined is None or subject.rows is None:
        return []
    graphs = subject.mined.rejects.graphs
    rng = np.random.default_rng([subject.seed, 22])
    folds = np.arange(len(graphs)) % NUM_SPLITS
    rng.shuffle(folds)
    splits = {"random": folds}
    if subject.dataset.is_molecular:
        splits["scaffold"] = scaffold_folds(graphs)
    found = []
    for name, fold in splits.items():
        whole = held_out(subject.mined.table, subject.task.num_recourses, subject.wishes, fold)
        if whole is None:
            continue
        each = held_out_success(subject.mined.table, subject.rows.tolist(), fold)
        seen, held = (tuple(None if np.isnan(it[k]) else it[k] for it in each) for k in (0, 1))
        found.append(Unseen(split=name, coverage=whole.coverage, success=held, seen_success=seen))
    return found


def scaffold_folds(graphs: Sequence[Graph]) -> npt.NDArray[np.int64]:
    """A fold for each graph, graphs of one scaffold in one fold; large scaffolds are dealt out first, each to the smallest fold, `[n]`."""
    members: dict[int, list[int]] = {}
    for place, graph in enumerate(graphs):
        members.setdefault(scaffold_key(graph), []).append(place)
    folds = np.zeros(len(graphs), np.int64)
    sizes = [0] * NUM_SPLITS
    for places in sorted(members.values(), key=lambda places: (-len(places), places[0])):
        fold = sizes.index(min(sizes))
        folds[places] = fold
        sizes[fold] += len(places)
    return folds


def scaffold_key(graph: Graph) -> int:
    """Key of the scaffold (Bemis and Murcko 1996): rings and their linkers, left after repeated removal of leaves."""
    import networkx as nx  # a quarter of a second to import

    plain: nx.Graph[int] = nx.Graph(graph.edges.tolist())
    kept = sorted(nx.k_core(plain, 2))
    if not kept:
        return 0
    rank = {node: k for k, node in enumerate(kept)}
    edges = [(rank[i], rank[j]) for i, j in graph.edges.tolist() if i in rank and j in rank]
    return graph_key(Graph(graph.labels[kept], edges))
