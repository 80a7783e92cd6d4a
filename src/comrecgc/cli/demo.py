"""`comrecgc demo`: the whole pipeline on the planted molecules, whose true recourses are known."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comrecgc.cli.app import Seed, app, guarded
from comrecgc.terminal import bars, out

if TYPE_CHECKING:
    from comrecgc.data import PlantedDataset
    from comrecgc.explanation import CoveredInput, Explanation


@app.command()
@guarded
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="Where models and report go.")] = Path("comrecgc-demo"),
    seed: Seed = 0,
) -> None:
    """The whole pipeline on built-in molecules, in about a minute; ends with the path of a report."""
    run_demo(out_folder, seed)


def run_demo(folder: Path, seed: int, *, num_recourses: int = 6, panel_epochs: int = 100) -> Explanation:
    """Train on the planted dataset, explain the classifier, and compare with what was planted.

    Args:
        folder: The run folder.
        seed: Of the trainings and of the search.
        num_recourses: Rules to choose.
        panel_epochs: Of the classifiers that are asked too; few, to keep the whole to about a minute.
    """
    from comrecgc.algorithms.settings import Settings
    from comrecgc.cli.summary import print_summary
    from comrecgc.compilation import Compilation
    from comrecgc.data import load_planted
    from comrecgc.models import ClassifierTraining, PanelTraining
    from comrecgc.runs import explain_dataset

    started = time.monotonic()
    compilation = Compilation.start()
    dataset = load_planted()
    out.print(f"{len(dataset)} molecules, {int((dataset.classes == 0).sum())} carry a toxicophore (reject)")
    with bars() as bar:
        explanation = explain_dataset(
            dataset,
            folder,
            # One change each names what was planted; pairs of general changes would cover more and say less.
            Settings(num_recourses=num_recourses, max_changes=1, seed=seed),
            classifier_training=ClassifierTraining(seed=seed, epochs=300, patience=60),
            panel_training=PanelTraining(models=("gcn", "gin", "sage"), epochs=panel_epochs, patience=30),
            overwrite=True,
            progress=bar,
            compilation=compilation,
        )
    out.print(f"the classifier is right on {explanation.facts.model_accuracy or 0:.1%} of the molecules")
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    touching = sum(touches_toxicophore(dataset, member) for member in members)
    out.print(
        f"{touching} of {len(members)} counterfactuals change a planted group ({time.monotonic() - started:.0f} s)"
    )
    print_summary(explanation, folder)
    return explanation


def touches_toxicophore(dataset: PlantedDataset, member: CoveredInput) -> bool:
    """Whether the edits change a node or bond of a toxic group that was planted."""
    touched = {
        node
        for edit in member.edits
        for node in ((edit.first, edit.second) if edit.kind.joins_nodes else (edit.first,))
    }
    return any(touched & set(group.nodes) for group in dataset.toxicophores[member.input])
