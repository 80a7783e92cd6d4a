"""`comrecgc train …` and `comrecgc reproduce`: models for an explanation, and the paper's tables and figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from comrecgc.cli import app as cli
from comrecgc.errors import InputError
from comrecgc.run import RunContext, bars, out

train = typer.Typer(help="Train what an explanation needs: a classifier to explain, an embedder to measure with.")
cli.app.add_typer(train, name="train", no_args_is_help=True)
_saved_as = partial(typer.Option, "--out", help="A .safetensors file; its facts go beside it.")


@cli.command("classifier", of=train)
def train_classifier_command(
    data: cli.Data,
    model: Annotated[Literal["gcn", "gat", "sage", "gin"], typer.Option(help="Architecture.")] = "gcn",
    output: Annotated[Path | None, _saved_as(show_default="DATASET-MODEL.safetensors")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Most epochs.")] = 1000,
    patience: Annotated[
        int, typer.Option(min=0, help="Stop after so many epochs without progress; 0 never does.")
    ] = 200,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give both classes the same weight, whatever their sizes.")
    ] = False,
    seed: cli.Seed = 0,
) -> None:
    """Train the classifier to be explained: three convolutions, max pool, one linear layer, as in the paper."""
    from comrecgc.models import ClassifierTraining, train_classifier

    loaded = cli.read_data(data)
    path = output or Path(f"{loaded.name}-{model}.safetensors")
    settings = ClassifierTraining(model=model, epochs=epochs, patience=patience or None, seed=seed, balanced=balanced)
    with bars() as bar:

        def tell(it: Any) -> None:
            words = f"loss {it.loss:.3f}, validation {it.accuracy:.1%}, best {it.best_accuracy:.1%}"
            bar(f"training {model}", it.epoch, it.epochs, words)

        trained = train_classifier(loaded, settings, out=path, progress=tell)
    accuracy = ", ".join(f"{name} {share:.1%}" for name, share in trained.accuracy.items())
    out.print(f"{loaded.name} {model}: accuracy {accuracy} (epoch {trained.best_epoch} of {trained.epochs})")
    out.print(f"saved to {path}", soft_wrap=True, markup=False)


@cli.command("embedder", of=train)
def train_embedder_command(
    data: cli.Data,
    output: Annotated[Path | None, _saved_as(show_default="DATASET-greed.safetensors")] = None,
    effort: Annotated[
        float, typer.Option(min=0.001, help="1 takes minutes; less is quicker, more is more exact.")
    ] = 1.0,
    seed: cli.Seed = 0,
    jobs: cli.Jobs = None,
    cluster: cli.Cluster = None,
) -> None:
    """Train GREED, the embedding whose distances stand for graph edit distances; no licensed solver is needed."""
    from comrecgc.models import EmbedderTraining, train_embedder

    loaded = cli.read_data(data)
    path, context = output or Path(f"{loaded.name}-greed.safetensors"), RunContext(jobs=jobs, cluster=cluster)
    with bars() as bar:
        training = EmbedderTraining(effort=effort, seed=seed, jobs=context.num_jobs)
        facts = {"dataset": loaded.name, "label_names": list(loaded.label_names)}
        how: dict[str, Any] = {"facts": facts, "progress": bar, "engine": context.engine}
        model = train_embedder(loaded.graphs, loaded.num_labels, training, out=path, **how)
    for kind, error in model.facts["held_out"].items():
        out.print(
            f"{loaded.name} greed, {kind} pairs not trained on: error {error['rmse']:.2f} "
            f"at mean distance {error['mean_distance']:.1f}"
        )
    out.print(f"saved to {path}", soft_wrap=True, markup=False)


# `comrecgc reproduce`: the paper's tables and figures, which are beside this package.

REPRODUCTION = (
    cli.option("listed", bool, False, "--list", "Name every table and figure, and stop."),
    cli.option("scale", str, "quick", "--scale", "quick (few graphs, short walks) or full (as in the paper).", True),
    cli.option("seeds", int | None, None, "--seeds", "Number of seeds; one if all would take more than an hour of one processor.", "quick 1, full 3", min=1),
    cli.option("computed", bool, False, "--computed", 'Compute nothing: tables of the cells in --out, the others "not run".'),
    cli.option("folder", Path, Path("comrecgc-reproduction"), "--out", "Folder for tables, figures, models and cells.", True),
    cli.option(
        "checkpoints", Path | None, None, "--checkpoints",
        "Folder with released models, NAME/classifier.pth and NAME/greed.pt; others are trained.",
    ),
    cli.option("cells", Path | None, None, "--cells", "Cells of another run (cells.jsonl), which are not computed again."),
)  # fmt: skip


@cli.command(how=REPRODUCTION)
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to reproduce; `--list` names them, `all` is every one.")
    ] = None,
    *,
    how: dict[str, Any],
    jobs: cli.Jobs = None,
    data_root: cli.DataRoot = None,
    resume: cli.Resume = False,
) -> None:
    """Regenerate the paper's tables and figures, each cell beside what the paper printed."""
    try:
        from comrecgc_reproduction import carry_out
    except ModuleNotFoundError as error:
        if error.name != "comrecgc_reproduction":
            raise
        message = "reproduce needs the package comrecgc_reproduction: install comrecgc from its source repository"
        raise InputError(message) from error
    carry_out(names or [], jobs=RunContext(jobs=jobs).num_jobs, data_root=data_root, resume=resume, **how)
