"""Where the panel comes from: files, the cache, training, or models that are explained together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from comrecgc.classifiers import (
    Classifier,
    Panel,
    PanelMember,
    PanelTraining,
    as_classifier,
    load_panel,
    obtain_panel,
)
from comrecgc.datasets import GraphDataset
from comrecgc.engine import Engine
from comrecgc.pipeline.inputs import Progress

ObtainPanel = Callable[[float | None], tuple[Panel | None, str]]
"""Loads or trains a panel before a deadline, with a sentence on it; called only if there is something to explain."""


def agreement_source(
    models: Sequence[Classifier | Callable[..., Any] | str | Path], dataset: GraphDataset
) -> ObtainPanel:
    """Models, or files of them, that are explained together with another: a panel that must be unanimous."""
    members: list[PanelMember] = []
    for place, model in enumerate(models):
        if isinstance(model, str | Path):
            members += load_panel([model], label_names=dataset.label_names).members
        else:
            members.append(PanelMember(name=f"model {place + 2}", classifier=as_classifier(model, dataset)))
    names = ", ".join(member.name for member in members)
    sentence = (
        f"{len(members) + 1} classifiers are explained at once, the others being {names}: "
        "all reject every input and accept every counterfactual."
    )
    panel = Panel(tuple(members), unanimous=True)
    return lambda _: (panel, sentence)


def panel_source(
    dataset: GraphDataset,
    files: Sequence[str | Path] = (),
    training: PanelTraining | None = None,
    *,
    has_classes: bool = True,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ObtainPanel:
    """Obtains a panel when it is called: from files, from the cache, or by training."""
    return lambda deadline: obtain_panel(
        dataset,
        files=files,
        training=training,
        has_classes=has_classes,
        engine=engine,
        deadline=deadline,
        progress=progress,
    )
