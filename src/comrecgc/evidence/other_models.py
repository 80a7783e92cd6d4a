"""Other models of the same data, one by one: does a recourse turn them too, or is it a quirk of the model that is explained?

"Most of the panel accept the result" flatters a recourse whose inputs the panel accepts anyway. Here only inputs count that the other model
rejects too, and the recourse must turn them; and more of them than random changes of the same kind do, since some models accept after almost any change.
A panel that only guesses is no witness: models that learned nothing agree with each other all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.graphs import BoolArray, Graph, GraphBatch
from comrecgc.models import Classifier, Panel

LEAST_INPUTS = 5
"""Inputs that another model must reject too before its answer counts."""

TURNS_MOST = 0.5
"""Share of them that a recourse must turn to work in another model too."""

_GRAPHS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one other model says of the results of one recourse.

    Args:
        member: The model: its architecture and seed, or its file.
        chosen_with: Whether the model took part in the choice of the recourse, so that its answer is no surprise.
        results: Results it was asked about.
        accepted: Those that it accepts.
        rejects: Inputs of these results that it rejects, as the explained model does.
        turned: Those of them whose result it accepts.
        architecture: gcn, gat, sage or gin; empty for models of one's own.
        guesses: Whether its panel is right no more often than the commonest class, so that its answer counts for nothing.
        random_rejects: Inputs that it rejects among those to which random changes of the same kind were made.
        random_turned: Those of them whose result it accepts.
    """

    member: str
    chosen_with: bool
    results: int
    accepted: int
    rejects: int
    turned: int
    architecture: str = ""
    guesses: bool = False
    random_rejects: int = 0
    random_turned: int = 0

    @property
    def share_turned(self) -> float | None:
        """Share of the inputs it rejects too that are turned; None for too few of them."""
        return self.turned / self.rejects if self.rejects >= LEAST_INPUTS else None

    @property
    def works(self) -> bool | None:
        """Whether the recourse turns most of these inputs, and more than random changes do; None where it cannot tell."""
        if self.share_turned is None or self.guesses:
            return None
        least = self.random_share
        beats = least is None or wilson_interval(self.turned, self.rejects)[0] > least
        return self.share_turned >= TURNS_MOST and beats

    @property
    def random_share(self) -> float | None:
        """What random changes turn; None for too few."""
        return self.random_turned / self.random_rejects if self.random_rejects >= LEAST_INPUTS else None


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """What one other model, or all of one architecture, says of all recourses together.

    Args:
        name: The model or the architecture.
        chosen_with: Whether it took part in the choice.
        models: How many models it stands for.
        works: Recourses that work there, summed over models.
        asked: Recourses about which it can tell, summed over models.
        rejects: Inputs that it rejects too, over all recourses.
        turned: Those of them that are turned.
    """

    name: str
    chosen_with: bool
    models: int
    works: int
    asked: int
    rejects: int
    turned: int

    @property
    def title(self) -> str:
        """The model, or how many of an architecture: "all 4 gin"."""
        return self.name if self.models == 1 else f"all {self.models} {self.name}"


def summaries(said: Sequence[Sequence[Answer]], *, architectures: bool = False) -> list[ModelSummary]:
    """What each other model, or with `architectures` all of one architecture, says of all recourses, in the order of the panels."""
    rows: dict[tuple[str, bool], list[Answer]] = {}
    for answer in (answer for row in said for answer in row):
        name = answer.architecture if architectures else answer.member
        if name:
            rows.setdefault((name, answer.chosen_with), []).append(answer)
    return [
        ModelSummary(
            name=name,
            chosen_with=chosen_with,
            models=len({answer.member for answer in row}),
            works=sum(answer.works is True for answer in row),
            asked=sum(answer.works is not None for answer in row),
            rejects=sum(answer.rejects for answer in row),
            turned=sum(answer.turned for answer in row),
        )
        for (name, chosen_with), row in rows.items()
    ]


def by_architecture(said: Sequence[Answer]) -> dict[str, float]:
    """Share of inputs turned in models of each architecture, mean over seeds."""
    shares: dict[str, list[float]] = {}
    for answer in said:
        if answer.share_turned is not None and answer.architecture:
            shares.setdefault(answer.architecture, []).append(answer.share_turned)
    return {name: float(np.mean(values)) for name, values in sorted(shares.items())}


def compared(said: Sequence[tuple[Answer, ...]], random: Sequence[tuple[Answer, ...]]) -> list[tuple[Answer, ...]]:
    """Answers on each recourse with what the same models say of random changes drawn for it; where those are too few, of all."""
    whole = [
        (sum(row[k].rejects for row in random), sum(row[k].turned for row in random)) for k in range(len(random[0]))
    ]
    return [
        tuple(
            replace(answer, random_rejects=like.rejects, random_turned=like.turned)
            if like.rejects >= 4 * LEAST_INPUTS
            else replace(answer, random_rejects=rejects, random_turned=turned)
            for answer, like, (rejects, turned) in zip(row, likes, whole, strict=True)
        )
        for row, likes in zip(said, random, strict=True)
    ]


def guesses(panel: Panel, classes: npt.NDArray[np.int8]) -> bool:
    """Whether a panel is right no more often than the commonest class, on the tenth of the graphs that each member was tested on.

    Where nobody measured its members, they are taken to know something.
    """
    known = [member.accuracy for member in panel.members if member.accuracy is not None]
    if not known or not len(classes):
        return False
    tested = len(known) * max(round(len(classes) / 10), 1)
    commonest = max(float(classes.mean()), 1 - float(classes.mean()))
    return wilson_interval(round(float(np.mean(known)) * tested), tested)[0] <= commonest


def answers(
    results: Sequence[Sequence[tuple[Graph, Graph]]],
    panels: Sequence[tuple[Panel, bool]],
    classes: npt.NDArray[np.int8] | None = None,
) -> list[tuple[Answer, ...]]:
    """What each member of some panels, which took part in the choice or not, says of the results of each recourse.

    True labels of the data tell panels that only guess.
    """
    sizes = [len(pairs) for pairs in results]
    ends = np.cumsum(sizes)
    before = [graph for pairs in results for graph, _ in pairs]
    after = [graph for pairs in results for _, graph in pairs]
    found: list[list[Answer]] = [[] for _ in results]
    for panel, chosen_with in panels:
        blind = classes is not None and guesses(panel, classes)
        for member in panel.members:
            masks = [accepts(member.classifier, graphs) for graphs in (before, after)]
            for place, (start, end) in enumerate(zip(ends - sizes, ends, strict=True)):
                old, new = (mask[start:end] for mask in masks)
                found[place].append(
                    Answer(
                        member=member.name,
                        chosen_with=chosen_with,
                        results=int(end - start),
                        accepted=int(new.sum()),
                        rejects=int((~old).sum()),
                        turned=int((new & ~old).sum()),
                        architecture=str(getattr(member.classifier, "architecture", "")),
                        guesses=blind,
                    )
                )
    return [tuple(row) for row in found]


def confirmed_share(panel: Panel, before: Sequence[Graph], after: Sequence[Graph], num_inputs: int) -> float:
    """Share of all inputs whose counterfactual a panel confirms."""
    said = [np.array([accepts(member.classifier, graphs) for member in panel.members]) for graphs in (before, after)]
    return float(panel.confirmed(*said).sum()) / max(num_inputs, 1)


def accepts(classifier: Classifier, graphs: Sequence[Graph]) -> BoolArray:
    """Which graphs a classifier accepts, asked about some thousand at a time."""
    parts = [graphs[start : start + _GRAPHS_AT_ONCE] for start in range(0, len(graphs), _GRAPHS_AT_ONCE)]
    masks = [classifier.accept_probability(GraphBatch.from_graphs(part)) > 0.5 for part in parts]
    return np.concatenate([np.zeros(0, bool), *masks])
