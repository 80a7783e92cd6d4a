"""The command line: `comrecgc …`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from comrecgc import __version__
from comrecgc.errors import InputError
from comrecgc.terminal import bars, err, out

app = typer.Typer(
    name="comrecgc",
    help="Explain a graph neural network globally: a few common recourses that turn many rejected graphs into accepted ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
train = typer.Typer(help="Train what an explanation needs: a classifier to explain, an embedder to measure with.")
app.add_typer(train, name="train", no_args_is_help=True)


P = ParamSpec("P")


class Model(StrEnum):
    """The classifiers of the paper."""

    gcn = "gcn"
    gat = "gat"
    sage = "sage"
    gin = "gin"


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command with bad input as one line on stderr and exit code 2, and Ctrl-C as exit code 130."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            command(*arguments, **options)
        except InputError as error:
            err.print(f"error: {error}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            err.print("interrupted: a training goes on from its last checkpoint if you add --resume", soft_wrap=True)
            raise typer.Exit(130) from None

    return run


Dataset = Annotated[
    str,
    typer.Option(
        help="aids, mutagenicity, nci1, proteins, imdb-binary, imdb-multi, planted; "
        "or the path of a TU folder or .zip, or of a .csv, .tsv or .smi file of SMILES.",
    ),
]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the benchmark archives, before $COMRECGC_DATA and the user cache.", show_default=False
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from where an interrupted training stopped.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same weights.")]
Jobs = Annotated[int, typer.Option(min=1, help="Cores to use; the result does not depend on it.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"comrecgc {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options before a command."""


@app.command()
@guarded
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="Where the trained models go.")] = Path("comrecgc-demo"),
    seed: Seed = 0,
) -> None:
    """Train a classifier and an embedder on the built-in planted molecules and show which single edits flip rejects."""
    from comrecgc.demo import run_demo

    run_demo(out_folder, seed)


@train.command("classifier")
@guarded
def train_classifier_command(
    dataset: Dataset,
    model: Annotated[Model, typer.Option(help="Architecture.")] = Model.gcn,
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
    seed: Seed = 0,
    data_root: DataRoot = None,
    resume: Resume = False,
) -> None:
    """Train the classifier to be explained: three convolutions, max pool, one linear layer, as in the paper."""
    from comrecgc.classifiers import ClassifierTraining, train_classifier
    from comrecgc.datasets import load_dataset

    loaded = load_dataset(dataset, root=data_root)
    path = output or Path(f"{loaded.name}-{model.value}.safetensors")
    settings = ClassifierTraining(model=model.value, epochs=epochs, patience=patience or None, seed=seed)
    with bars() as bar:
        trained = train_classifier(
            loaded,
            settings,
            out=path,
            resume=resume,
            progress=lambda report: bar(
                f"training {model.value}",
                report.epoch,
                report.epochs,
                f"loss {report.loss:.3f}, validation {report.accuracy:.1%}, best {report.best_accuracy:.1%}",
            ),
        )
    accuracy = ", ".join(f"{name} {share:.1%}" for name, share in trained.accuracy.items())
    out.print(f"{loaded.name} {model.value}: accuracy {accuracy} (epoch {trained.best_epoch} of {trained.epochs})")
    out.print(f"saved to {path}", soft_wrap=True, markup=False)


@train.command("embedder")
@guarded
def train_embedder_command(
    dataset: Dataset,
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
    jobs: Jobs = 2,
    data_root: DataRoot = None,
    resume: Resume = False,
) -> None:
    """Train GREED, the embedding whose distances stand for graph edit distances; no licensed solver is needed."""
    from comrecgc.datasets import load_dataset
    from comrecgc.embedding import EmbedderTraining, train_embedder

    loaded = load_dataset(dataset, root=data_root)
    path = output or Path(f"{loaded.name}-greed.safetensors")
    with bars() as bar:
        model = train_embedder(
            loaded.graphs,
            loaded.num_labels,
            EmbedderTraining(effort=effort, seed=seed, jobs=jobs),
            out=path,
            resume=resume,
            facts={"dataset": loaded.name, "label_names": list(loaded.label_names)},
            progress=bar,
        )
    for kind, error in model.facts["held_out"].items():
        out.print(
            f"{loaded.name} greed, {kind} pairs not trained on: error {error['rmse']:.2f} "
            f"at mean distance {error['mean_distance']:.1f}"
        )
    out.print(f"saved to {path}", soft_wrap=True, markup=False)


def main() -> None:
    """Run the command line."""
    app()
