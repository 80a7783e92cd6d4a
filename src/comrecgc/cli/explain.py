"""`comrecgc explain` and `comrecgc demo`: a dataset and perhaps models in, a run folder out.

The options of `explain` are generated from the algorithms: their fields, help texts and defaults.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comrecgc.cli.app import (
    OTHERS,
    ClassifierFile,
    Cluster,
    Command,
    DataRoot,
    Dataset,
    Jobs,
    Overwrite,
    Resume,
    Seed,
    TimeBudget,
    app,
    guarded,
    on_output,
    on_trust,
    option_name,
    read_data,
    reading_data,
    with_options,
)
from comrecgc.errors import InputError
from comrecgc.terminal import bars, err, out

if TYPE_CHECKING:
    from comrecgc.data import PlantedDataset
    from comrecgc.explanation import CoveredInput, Explanation

_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "tuple": list[str]}


@app.command("explain", add_help_option=False)
def _listed() -> None:
    """Find the common recourses of a classifier on a dataset; models that are not given are trained, once."""


def explain_command() -> Any:
    """The command as typer builds it."""
    built = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    built.command("explain", cls=_ExplainCommand)(full_explain())
    return typer.main.get_command(built)


class _ExplainCommand(Command):
    """The help has the options of one algorithm: of rules, or of the one that stands before `--help`."""

    def row(self, ctx: Any, parameter: Any) -> tuple[str, str] | None:
        from comrecgc.algorithms.registry import ALGORITHMS, algorithm_of

        name = ctx.params.get("algorithm") or "rules"
        algorithm_of(name)
        own = {each.name: each for each in _fields(ALGORITHMS[name])}
        row = super().row(ctx, parameter)
        if row is None or parameter.name not in {each.name for made in ALGORITHMS.values() for each in _fields(made)}:
            return row
        if parameter.name not in own:
            return None
        default = own[parameter.name].default
        shown = "" if default in (None, (), False) else f" [{_shown(default)}]"
        return row[0], own[parameter.name].metadata["help"] + shown


def full_explain() -> Callable[..., None]:
    """The function of the command, with the options of all algorithms."""
    from comrecgc.algorithms.registry import ALGORITHMS

    full = with_options(reading_data(guarded(explain)), "options", algorithm_options())
    full.__doc__ = (explain.__doc__ or "").replace("ALGORITHMS", ", ".join(ALGORITHMS))
    return full


def algorithm_options() -> list[inspect.Parameter]:
    """An option for every field of an algorithm; one that several share is one option, and its help says whose it is."""
    from comrecgc.algorithms.registry import ALGORITHMS

    names = dict.fromkeys(
        each.name for made in ALGORITHMS.values() for each in _fields(made) if each.metadata["command_line"]
    )
    options = [_option(name) for name in names]
    order = ("Trust", "Rules", "Molecules", "Model", "Vectors", OTHERS, "Baselines", "Scale")
    return sorted(options, key=lambda option: order.index(option.annotation.__metadata__[0].rich_help_panel))


def _fields(made: Any) -> list[Any]:
    from dataclasses import fields

    return [each for each in fields(made) if each.metadata]


def _option(name: str) -> inspect.Parameter:
    from comrecgc.algorithms.registry import ALGORITHMS

    owners = {key: each for key, made in ALGORITHMS.items() for each in _fields(made) if each.name == name}
    first = next(iter(owners.values()))
    helps = _by_value({key: each.metadata["help"] for key, each in owners.items()}, len(ALGORITHMS))
    defaults = _by_value({key: _shown(each.default) for key, each in owners.items()}, len(owners))
    kind = _KINDS.get(str(first.type).split(" ")[0].split("[")[0], str)
    if str(first.type) == "float | str":
        kind = str
    flag = option_name(name)
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=helps,
        show_default=defaults or False,
        metavar="|".join(first.metadata["choices"]) if str(first.type) == "str" else None,
        rich_help_panel=first.metadata["panel"] or ("Rules" if "rules" in owners else OTHERS),
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _by_value(texts: dict[str, str], everyone: int) -> str:
    """Texts of several algorithms: those of a few are named, and a shared one stands alone."""
    groups: dict[str, list[str]] = {}
    for key, text in texts.items():
        groups.setdefault(text, []).append(key)
    if len(groups) == 1:
        text, owners = next(iter(groups.items()))
        few = len(owners) < everyone and len(owners) < 9
        return f"{text} ({', '.join(owners)})" if few and text else text
    *few_of_them, (most, most_owners) = sorted(groups.items(), key=lambda group: len(group[1]))
    named = [f"{', '.join(owners)}: {text}" for text, owners in few_of_them]
    return "; ".join([*named, f"otherwise {most}" if len(most_owners) > 1 else f"{most_owners[0]}: {most}"])


def _shown(value: Any) -> str:
    return "none" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)


def explain(
    dataset: Dataset,
    reading: dict[str, Any],
    data_root: DataRoot = None,
    classifier: ClassifierFile = None,
    algorithm: Annotated[
        str, typer.Option(metavar="NAME", help="How recourses are found; NAME --help shows its options.", is_eager=True)
    ] = "rules",
    theta: Annotated[
        float | None,
        typer.Option(help="θ: largest normalised distance of a counterfactual.", show_default="0.1; proteins 0.15"),
    ] = None,
    recourses: Annotated[
        int | None, typer.Option(min=1, help="R: recourses to find, at most.", show_default="10 rules, 100 vectors")
    ] = None,
    seed: Seed = 0,
    panel: Annotated[
        list[Path] | None,
        on_trust(
            help="A classifier of the panel, once per file.",
            show_default="trained for rules, and where changes are confirmed",
        ),
    ] = None,
    no_panel: Annotated[bool, on_trust("--no-panel", help="Ask no other classifiers.")] = False,
    jury: Annotated[
        list[Path] | None,
        on_trust(help="A classifier that reports on results beside the jury and chooses nothing, once per file."),
    ] = None,
    no_jury: Annotated[
        bool, on_trust("--no-jury", help="Ask no models of other kinds; rules are chosen for coverage.")
    ] = False,
    agree: Annotated[
        list[Path] | None,
        on_trust(
            help="A classifier that is explained at the same time, once per file: all must reject an input and accept its "
            "counterfactual."
        ),
    ] = None,
    options: dict[str, Any] = {},  # noqa: B006  # filled in by `with_options`
    output: Annotated[Path | None, on_output("--out", help="The run folder.", show_default="comrecgc-DATASET")] = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
    jobs: Jobs = None,
    time_budget: TimeBudget = None,
    cluster: Cluster = None,
) -> None:
    """Find the common recourses of a classifier on a dataset; models that are not given are trained, once.

    Algorithms: ALGORITHMS. Exit code 3: the time budget ended the search before anything was found.
    """
    started = time.monotonic()
    from comrecgc.cli.summary import print_summary
    from comrecgc.compilation import Compilation
    from comrecgc.cover import Reason
    from comrecgc.data import paper_theta
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.run import RunContext
    from comrecgc.runs import explain_dataset

    if no_panel and panel:
        raise InputError("--panel and --no-panel cannot both be given")
    if no_jury and jury:
        raise InputError("--jury and --no-jury cannot both be given")
    if agree and (panel or no_panel):
        raise InputError("--agree takes the place of --panel: they cannot both be given")
    if agree and options["changes"] not in (None, "confirmed"):
        raise InputError(f"--agree asks for --changes confirmed (got {options['changes']})")
    chosen = chosen_algorithm(algorithm, options)
    with bars() as bar:
        compilation = Compilation.start() if chosen.recourse == "rules" else None
        explainer = CommonRecourseExplainer(
            classifier,  # type: ignore[arg-type]  # None trains one
            chosen,
            theta=paper_theta(dataset) if theta is None else theta,
            num_recourses=recourses,
            panel=False if no_panel else list(panel) if panel else None,
            jury=False if no_jury else list(jury) if jury else None,
            agree=agree or (),
            random_state=seed,
            context=RunContext(
                time_budget=time_budget, jobs=jobs, cluster=cluster, progress=bar, resume=resume, started=started,
                before_search=None if compilation is None else partial(compilation.wait, bar),
            ),
        )  # fmt: skip
        explainer.task()  # what is wrong with it is said before data is read
        loaded = read_data(dataset, data_root, reading, label_names=_known_atoms(classifier, dataset))
        folder = output or Path(f"comrecgc-{loaded.name}")
        explanation = explain_dataset(
            loaded, folder, explainer, overwrite=overwrite,
            source={"dataset": str(Path(dataset).resolve()) if Path(dataset).exists() else dataset, "reading": reading},
        )  # fmt: skip
    print_summary(explanation, folder)
    if not explanation.recourses and any(entry.reason == Reason.OUT_OF_TIME for entry in explanation.uncovered):
        err.print(f"nothing was found: the time budget of {time_budget:g} s ended the search", soft_wrap=True)
        raise typer.Exit(3)


def _known_atoms(classifier: Path | None, dataset: str) -> Sequence[str] | None:
    """The atoms that a classifier of a table knows: a table of some of its molecules may lack some, and count others more often."""
    from comrecgc.data import is_table
    from comrecgc.models import load_classifier

    if classifier is None or not is_table(dataset):
        return None
    names = load_classifier(classifier).facts.get("label_names")
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def chosen_algorithm(name: str, options: dict[str, Any]) -> Any:
    """The algorithm with the options that were given, which must be its own."""
    from comrecgc.algorithms.registry import algorithm_of, owners_of

    given = {option: value for option, value in options.items() if value not in (None, [])}
    algorithm_of(name)  # an unknown name is refused first
    for option in given:
        *others, last = owners_of(option)
        if name not in (*others, last):
            owners = f"{', '.join(others)} or {last}" if others else last
            raise InputError(f"{option_name(option)} is an option of --algorithm {owners} (got --algorithm {name})")
    with suppress(KeyError, ValueError):  # a text stays what it is
        given["delta"] = float(given["delta"])
    return algorithm_of(name, given)


# `comrecgc demo`: the whole pipeline on the planted molecules, whose true recourses are known.


@app.command(cls=Command)
@guarded
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="Where models and report go.")] = Path("comrecgc-demo"),
    seed: Seed = 0,
) -> None:
    """The whole pipeline on built-in molecules, in about a minute; ends with the path of a report."""
    run_demo(out_folder, seed)


UNWANTED = (
    "[NX3;!$(N=O)]-[NX3]", "[NX3;!$([N+])]-[OX2]", "[#7]-[F,Cl,Br,I]", "[#8]-[F,Cl,Br,I]", "[OX2]-[OX2]", "C=[CX2]=*", "[NX2]=[NX2]", "C1CN1",
    "[NX3]C(=O)[OX2;H1]",
)  # fmt: skip
"""What the demo does not offer in the place of a toxic group: hydrazines, hydroxylamines, halogens on nitrogen or oxygen, peroxides, cumulenes, azo groups,
aziridines and carbamic acids."""


def run_demo(folder: Path, seed: int, *, num_recourses: int = 6, panel_epochs: int = 100) -> Explanation:
    """Train on the planted dataset, explain the classifier, and compare with what was planted; few epochs keep the whole to about a minute."""
    from comrecgc.algorithms.rules.algorithm import Rules
    from comrecgc.cli.summary import print_summary
    from comrecgc.compilation import Compilation
    from comrecgc.data import load_planted
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.models import ClassifierTraining, PanelTraining
    from comrecgc.run import RunContext
    from comrecgc.runs import explain_dataset

    started = time.monotonic()
    compilation = Compilation.start()
    dataset = load_planted()
    rejected = int((dataset.classes == 0).sum())
    out.print(
        f"SYNTHETIC molecules, {len(dataset)} of them: {rejected} were given a nitro group, a nitrosamine or an epoxide, and are called toxic"
    )
    with bars() as bar:
        explainer = CommonRecourseExplainer(
            None,  # type: ignore[arg-type]  # one is trained
            # One change each names what was planted; pairs of general changes would cover more and say less. What a chemist
            # would not make in the place of a toxic group, such as a hydrazine, is ruled out.
            Rules(max_changes=1, forbid=UNWANTED),
            num_recourses=num_recourses,
            panel=PanelTraining(models=("gcn", "gin", "sage"), epochs=panel_epochs, patience=30),
            random_state=seed,
            context=RunContext(progress=bar, before_search=partial(compilation.wait, bar)),
        )
        training = ClassifierTraining(seed=seed, epochs=300, patience=60)
        explanation = explain_dataset(dataset, folder, explainer, training=training, overwrite=True)
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
