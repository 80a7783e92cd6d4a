"""`comrecgc train …`: what an explanation needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from comrecgc.cli.app import Cluster, Command, DataRoot, Dataset, Jobs, Seed, app, guarded, read_data, reading_data
from comrecgc.terminal import bars, out

train = typer.Typer(help="Train what an explanation needs: a classifier to explain, an embedder to measure with.")
app.add_typer(train, name="train", no_args_is_help=True)


@train.command("classifier", cls=Command)
@reading_data
@guarded
def train_classifier_command(
    dataset: Dataset,
    reading: dict[str, Any],
    model: Annotated[Literal["gcn", "gat", "sage", "gin"], typer.Option(help="Architecture.")] = "gcn",
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A .safetensors file; its facts go beside it.", show_default="DATASET-MODEL.safetensors"
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs.")] = 1000,
    patience: Annotated[
        int, typer.Option(min=0, help="Stop after so many epochs without progress; 0 never does.")
    ] = 200,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let both classes count the same, however many graphs they have.")
    ] = False,
    seed: Seed = 0,
    data_root: DataRoot = None,
) -> None:
    """Train the classifier to be explained: three convolutions, max pool, one linear layer, as in the paper."""
    from comrecgc.models import ClassifierTraining, train_classifier

    loaded = read_data(dataset, data_root, reading)
    path = output or Path(f"{loaded.name}-{model}.safetensors")
    settings = ClassifierTraining(model=model, epochs=epochs, patience=patience or None, seed=seed, balanced=balanced)
    with bars() as bar:
        trained = train_classifier(
            loaded,
            settings,
            out=path,
            progress=lambda report: bar(
                f"training {model}",
                report.epoch,
                report.epochs,
                f"loss {report.loss:.3f}, validation {report.accuracy:.1%}, best {report.best_accuracy:.1%}",
            ),
        )
    accuracy = ", ".join(f"{name} {share:.1%}" for name, share in trained.accuracy.items())
    out.print(f"{loaded.name} {model}: accuracy {accuracy} (epoch {trained.best_epoch} of {trained.epochs})")
    out.print(f"saved to {path}", soft_wrap=True, markup=False)


@train.command("embedder", cls=Command)
@reading_data
@guarded
def train_embedder_command(
    dataset: Dataset,
    reading: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A .safetensors file; its facts go beside it.", show_default="DATASET-greed.safetensors"
        ),
    ] = None,
    effort: Annotated[
        float, typer.Option(min=0.001, help="1 takes minutes; less is quicker, more is more exact.")
    ] = 1.0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    data_root: DataRoot = None,
) -> None:
    """Train GREED, the embedding whose distances stand for graph edit distances; no licensed solver is needed."""
    from comrecgc.models import EmbedderTraining, train_embedder
    from comrecgc.run import RunContext

    loaded = read_data(dataset, data_root, reading)
    path, context = output or Path(f"{loaded.name}-greed.safetensors"), RunContext(jobs=jobs, cluster=cluster)
    with bars() as bar:
        model = train_embedder(
            loaded.graphs,
            loaded.num_labels,
            EmbedderTraining(effort=effort, seed=seed, jobs=context.num_jobs),
            out=path,
            facts={"dataset": loaded.name, "label_names": list(loaded.label_names)},
            progress=bar,
            engine=context.engine,
        )
    for kind, error in model.facts["held_out"].items():
        out.print(
            f"{loaded.name} greed, {kind} pairs not trained on: error {error['rmse']:.2f} "
            f"at mean distance {error['mean_distance']:.1f}"
        )
    out.print(f"saved to {path}", soft_wrap=True, markup=False)
