"""`comrecgc explain` and `comrecgc demo`, from a dataset and optional models to a run folder; and the summaries that commands print.

The options of `explain` are generated from the algorithms: their fields, help texts and defaults.
"""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from comrecgc.cli import app as cli
from comrecgc.cli.app import option_name
from comrecgc.errors import InputError
from comrecgc.run import RunContext, bars, err, out

if TYPE_CHECKING:
    from comrecgc.data import PlantedDataset
    from comrecgc.evidence import Evidence, Figure
    from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation

_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "tuple": list[str]}


@cli.app.command("explain", add_help_option=False)
def _listed() -> None:
    """Find common recourses of a classifier; missing models are trained and kept."""


def explain_command() -> Any:
    """Build the typer command."""
    built = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    built.command("explain", cls=_ExplainCommand)(full_explain())
    return typer.main.get_command(built)


class _ExplainCommand(cli.Command):
    """The help has the options of one algorithm: of rules, or of the one that stands before `--help`."""

    def row(self, ctx: Any, parameter: Any) -> tuple[str, str] | None:
        from comrecgc.algorithms.base import options_of
        from comrecgc.algorithms.registry import ALGORITHMS, algorithm_of, owners_of

        name = ctx.params.get("algorithm") or "rules"
        algorithm_of(name)
        own = options_of(ALGORITHMS[name])
        row = super().row(ctx, parameter)
        if row is None or not owners_of(parameter.name):
            return row
        if parameter.name not in own:
            return None
        default = own[parameter.name].default
        shown = "" if default in (None, (), False) else f" [{_shown(default)}]"
        return row[0], own[parameter.name].metadata["help"] + shown


def full_explain() -> Callable[..., None]:
    """The function of the command, with the options of all algorithms."""
    from comrecgc.algorithms.registry import ALGORITHMS

    full = cli.guarded(cli.grouped(explain, asked=ASKED, trust=TRUST, options=algorithm_options()))
    full.__doc__ = (explain.__doc__ or "").replace("ALGORITHMS", ", ".join(ALGORITHMS))
    return full


def algorithm_options() -> list[inspect.Parameter]:
    """An option for every field of an algorithm; fields of several algorithms share one option, whose help names them."""
    from comrecgc.algorithms.base import options_of
    from comrecgc.algorithms.registry import ALGORITHMS

    names = dict.fromkeys(
        each.name for made in ALGORITHMS.values() for each in options_of(made).values() if each.metadata["command_line"]
    )
    options = [_option(name) for name in names]
    order = ("Trust", "Rules", "Molecules", "Model", "Vectors", cli.OTHERS, "Baselines", "Scale")
    return sorted(options, key=lambda option: order.index(option.annotation.__metadata__[0].rich_help_panel))


def _option(name: str) -> inspect.Parameter:
    from comrecgc.algorithms.base import options_of
    from comrecgc.algorithms.registry import ALGORITHMS

    owners = {key: options_of(made)[name] for key, made in ALGORITHMS.items() if name in options_of(made)}
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
        rich_help_panel=first.metadata["panel"] or ("Rules" if "rules" in owners else cli.OTHERS),
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _by_value(texts: dict[str, str], everyone: int) -> str:
    """Combine texts of several algorithms: differing texts are followed by names of algorithms."""
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


ASKED = (
    cli.option("algorithm", str, "rules", "--algorithm", "Algorithm that finds recourses; NAME --help shows its options.", True, metavar="NAME", is_eager=True),
    cli.option("theta", float | None, None, "--theta", "θ: largest normalised distance of a counterfactual.", "0.1; proteins 0.15"),
    cli.option("recourses", int | None, None, "--recourses", "R: most recourses to find.", "10 rules, 100 vectors", min=1),
)  # fmt: skip
"""Options of every algorithm."""

_trust = partial(cli.option, rich_help_panel="Trust")
TRUST = (
    _trust(
        "panel", list[Path] | None, None, "--panel", "A classifier of the panel, once per file.",
        "trained for rules, and where changes are confirmed",
    ),
    _trust("no_panel", bool, False, "--no-panel", "Ask no other classifiers."),
    _trust("jury", list[Path] | None, None, "--jury", "A classifier that reports on results beside the jury without choosing, once per file."),
    _trust("no_jury", bool, False, "--no-jury", "Ask no models of other kinds; rules are chosen for coverage."),
    _trust(
        "agree", list[Path] | None, None, "--agree",
        "A further classifier to explain together, once per file: all must reject an input and accept its counterfactual.",
    ),
)  # fmt: skip
"""Options for other models."""


def explain(
    data: cli.Data,
    classifier: cli.ClassifierFile = None,
    *,
    asked: dict[str, Any],
    seed: cli.Seed = 0,
    trust: dict[str, Any],
    options: dict[str, Any],
    output: cli.Output,
    scale: cli.Scale,
) -> None:
    """Find common recourses of a classifier; missing models are trained and kept.

    Algorithms: ALGORITHMS. Exit code 3: the time budget ended the search before anything was found.
    """
    started = time.monotonic()
    from comrecgc.cover import Reason
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.runs import Compilation, explain_dataset

    panel, jury, agree = trust["panel"], trust["jury"], trust["agree"]
    for name in ("panel", "jury"):
        if trust[name] and trust[f"no_{name}"]:
            raise InputError(f"--{name} and --no-{name} cannot both be given")
    if agree and (panel or trust["no_panel"]):
        raise InputError("--agree replaces --panel: they cannot both be given")
    if agree and options["changes"] not in (None, "confirmed"):
        raise InputError(f"--agree needs --changes confirmed (got {options['changes']})")
    chosen, dataset = chosen_algorithm(asked["algorithm"], options), data.dataset
    with bars() as bar:
        compilation = Compilation.start() if chosen.recourse == "rules" else None
        explainer = CommonRecourseExplainer(
            classifier,  # type: ignore[arg-type]  # None trains one
            chosen,
            theta=data.theta if asked["theta"] is None else asked["theta"],
            num_recourses=asked["recourses"],
            panel=False if trust["no_panel"] else list(panel) if panel else None,
            jury=False if trust["no_jury"] else list(jury) if jury else None,
            agree=agree or (),
            random_state=seed,
            context=scale.context(
                progress=bar, resume=output.resume, started=started,
                before_search=None if compilation is None else partial(compilation.wait, bar),
            ),
        )  # fmt: skip
        explainer.task()  # what is wrong with it is said before data is read
        loaded = cli.read_data(data, label_names=_known_atoms(classifier, dataset))
        folder = output.out or Path(f"comrecgc-{loaded.name}")
        named = str(Path(dataset).resolve()) if Path(dataset).exists() else dataset
        source = {"dataset": named, "reading": data.reading}
        explanation = explain_dataset(loaded, folder, explainer, overwrite=output.overwrite, source=source)
    print_summary(explanation, folder)
    if not explanation.recourses and any(entry.reason == Reason.OUT_OF_TIME for entry in explanation.uncovered):
        err.print(f"nothing was found: the time budget of {scale.time_budget:g} s ended the search", soft_wrap=True)
        raise typer.Exit(3)


def _known_atoms(classifier: Path | None, dataset: str) -> Sequence[str] | None:
    """The atoms that the classifier of a table knows, since a table of some of its molecules can lack some or order them differently."""
    from comrecgc.data import is_table
    from comrecgc.models import load_classifier

    if classifier is None or not is_table(dataset):
        return None
    names = load_classifier(classifier).facts.get("label_names")
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def chosen_algorithm(name: str, options: dict[str, Any]) -> Any:
    """The algorithm with the given options, which must be its own."""
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


@cli.command()
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="Where models and report go.")] = Path("comrecgc-demo"),
    seed: cli.Seed = 0,
) -> None:
    """Run the whole pipeline on built-in molecules, in about a minute; ends with the path of a report."""
    run_demo(out_folder, seed)


UNWANTED = (
    "[NX3;!$(N=O)]-[NX3]", "[NX3;!$([N+])]-[OX2]", "[#7]-[F,Cl,Br,I]", "[#8]-[F,Cl,Br,I]", "[OX2]-[OX2]", "C=[CX2]=*", "[NX2]=[NX2]", "C1CN1",
    "[NX3]C(=O)[OX2;H1]",
)  # fmt: skip
"""Groups that the demo does not offer in place of a toxic one: hydrazines, hydroxylamines, halogens on nitrogen or oxygen, peroxides, cumulenes, azo groups,
aziridines and carbamic acids."""


def run_demo(folder: Path, seed: int, *, num_recourses: int = 6, panel_epochs: int = 100) -> Explanation:
    """Train on the planted dataset, explain the classifier, and compare with what was planted; few epochs keep the whole to about a minute."""
    from comrecgc.algorithms.rules.algorithm import Rules
    from comrecgc.data import load_planted
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.models import ClassifierTraining, PanelTraining
    from comrecgc.runs import Compilation, explain_dataset

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


# What a command prints when it is done: figures, the first recourses in words, where the report is.


_SHOWN = 5
_RULES_SHOWN = 10


def print_summary(explanation: Explanation, folder: Path | None) -> None:
    """Print the figures of a run, its first recourses, and the path of its report."""
    from comrecgc.runs import REPORT

    print_recourses(explanation, *rule_figures(explanation))
    if folder is not None:
        for command, purpose in _next_commands(explanation, quote(str(folder))):
            out.print(f"next: {command}  # {purpose}", markup=False, soft_wrap=True, highlight=False)
        out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)


def print_recourses(explanation: Explanation, *figures: str) -> None:
    """Print warnings, the coverage and further figures, the first recourses, and counts of inputs not covered, by reason."""
    for warning in explanation.warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    for line in (headline(explanation), *figures):
        out.print(line, markup=False, soft_wrap=True)
    if explanation.recourses:
        out.print(_rule_table(explanation) if explanation.recourse == "rules" else _vector_table(explanation))
    counts = Counter(entry.reason.value for entry in explanation.uncovered)
    if counts:
        words = ", ".join(f"{count} ({reason})" for reason, count in counts.most_common())
        out.print(f"not covered: {words}", markup=False, soft_wrap=True)


def _next_commands(explanation: Explanation, folder: str) -> list[tuple[str, str]]:
    """Two commands that go on from a finished run, with their purpose."""
    if not explanation.recourses:
        return []
    check = (f"comrecgc evaluate {folder} --evidence", "recompute every figure and gather evidence")
    other = (f"comrecgc apply --run {folder} --dataset NEW", "the same recourses on unseen graphs")
    if explanation.recourse == "rules":
        other = (f"comrecgc choose {folder} --min-success 0.8", "choose again under other conditions, without a search")
    return [other, check]


def print_figures(figures: Sequence[Figure]) -> None:
    """Print the figures that differ when recomputed, and how many are equal."""
    comparable = [figure for figure in figures if None not in (figure.stored, figure.recomputed)]
    different = [figure for figure in comparable if not figure.agrees]
    if different:
        table = Table("figure", "stored", "recomputed")
        for figure in different:
            table.add_row(figure.name, f"{figure.stored:.6g}", f"{figure.recomputed:.6g}")
        out.print(table)
    same = len(comparable) - len(different)
    out.print(
        f"{same} of {len(comparable)} figures identical" if different else f"all {len(comparable)} figures identical"
    )
    for why, count in Counter(figure.why for figure in figures if figure.recomputed is None).items():
        out.print(f"{count} not recomputed" + (f": {why}" if why else ""), markup=False, soft_wrap=True)


def headline(explanation: Explanation) -> str:
    """Coverage in one line."""
    parameters = explanation.parameters
    limits = ", ".join(
        f"{sign} = {parameters[name]:.4g}" for sign, name in (("θ", "theta"), ("Δ", "delta")) if name in parameters
    )
    what, covers = ("rule", "turn") if explanation.recourse == "rules" else ("common recourse", "cover")
    num = len(explanation.recourses)
    said = f"1 {what} {covers}s" if num == 1 else f"{num} {what}s {covers}"
    goal = explanation.schema.class_names[1]
    aim = "" if goal == "accept" else f" to reach {goal}"
    likely = f", results at least {least:.0%} likely true" if (least := explanation.least_truth) else ""
    reach = f"{_reach(explanation)} ({limits}, {explanation.changes} changes{likely})"
    return f"{explanation.schema.dataset}{aim and ','}{aim}: {said} {reach}"


def _reach(explanation: Explanation) -> str:
    """The share covered, of all graphs if the run shows a sample."""
    shown = f"{explanation.coverage:.1%} of {len(explanation.inputs)} rejected graphs"
    late = explanation.metrics.get("num_out_of_time")
    if isinstance(late, int):
        shown += f" (those tried of {len(explanation.inputs) + late} before the time budget ended)"
    whole, num = (explanation.metrics.get(f"population_{name}") for name in ("coverage", "inputs"))
    if whole is None:
        return shown
    return (
        f"{whole:.1%} of {num} rejected graphs, and {explanation.coverage:.1%} of the {len(explanation.inputs)} shown"
    )


def rule_figures(explanation: Explanation) -> list[str]:
    """Further figures of rules: held out, confirmed, and the bound on any choice."""
    several = explanation.facts.facts.get("agree") is True
    texts = {
        "expected_true": "{:.0%} of the results are expected to come true",
        "jury_share": "models of other kinds that took no part accept {:.1%} of them",
        "held_out_coverage": "{:.1%} of graphs not used for the choice",
        "confirmed_coverage": "all models accept {:.1%}" if several else "most of the panel confirm {:.1%}",
        "coverage_bound": "no choice of as many rules turns more than {:.1%}",
    }
    known = {name: value for name in texts if (value := explanation.metrics.get(name)) is not None}
    if explanation.recourse != "rules" or not known:
        return []
    return ["; ".join(texts[name].format(value) for name, value in known.items())]


def _rule_table(explanation: Explanation) -> Table:
    """Table of rules in words, each above its figures in a sentence, which wraps better than narrow columns."""
    table = Table.grid(padding=(0, 1, 0, 0))
    shown = zip(explanation.recourses[:_RULES_SHOWN], explanation.coverage_curve, strict=False)
    for place, (recourse, coverage) in enumerate(shown):
        # A label's name may look like markup, so it goes in as text.
        table.add_row(f"{place + 1:>2}.", Text(recourse.summary, style="bold"))
        table.add_row("", Text(_rule_facts(recourse, coverage)))
    return table


def _rule_facts(recourse: CommonRecourse, coverage: float) -> str:
    from comrecgc.explanation import at_least, effect_words, position_words

    known = recourse.statistics
    low, high = known.get("interval") or (0.0, 1.0)
    works = f"works for {at_least(known)}{known.get('accepted', recourse.gain)} of {known.get('applicable', '?')}"
    often = f"{works} ({known.get('success', 0):.0%}, {100 * low:.0f}–{high:.0%})"
    places = known.get("places") or {}
    if total := places.get("places"):
        often += f" at the best place; {places['accepted'] / total:.0%} of the places{position_words(places)}"
    if places.get("too_far"):
        often += f"; {places['too_far']} graphs too small for it within θ"
    facts = [
        often if known.get("applicable", 1) else "cannot be carried out on any of them",
        f"cost {known.get('cost', recourse.median_edits or 0):g}",
    ]
    if known.get("likely_true") is not None:
        facts.append(f"likely true for {known['likely_true']}")
    if known.get("expected_true") is not None:
        facts.append(f"expected to come true {known['expected_true']:.0%}")
    elif known.get("confirmed") is not None and known.get("accepted"):
        facts.append(f"confirmed {known['confirmed'] / known['accepted']:.0%}")
    pairs = known.get("pairs")
    if pairs and pairs["as_said"] + pairs["stays_reject"]:
        facts.append(f"real pairs {pairs['as_said']} of {pairs['as_said'] + pairs['stays_reject']}")
    return "; ".join([*facts, *effect_words(known), f"{coverage:.1%} so far"])


def _vector_table(explanation: Explanation) -> Table:
    table = Table("", "recourse", "graphs", "covered so far", "edits", "length")
    if any(recourse.share_valid is not None for recourse in explanation.recourses):
        table.add_column("valid")
    shown = zip(explanation.recourses[:_SHOWN], explanation.coverage_curve, strict=False)
    for place, (recourse, coverage) in enumerate(shown):
        row: list[str | Text] = [
            str(place + 1),
            Text(recourse.summary),  # a label's name may look like markup
            str(recourse.gain),
            f"{coverage:.1%}",
            "" if recourse.median_edits is None else f"{recourse.median_edits:g}",
            "" if recourse.norm is None else f"{recourse.norm:.3f}",
        ]
        table.add_row(*row, *([] if recourse.share_valid is None else [f"{recourse.share_valid:.0%}"]))
    return table


# Evidence as a person at a terminal reads it: the whole in a sentence, controls side by side, a verdict on each recourse.


_VERDICTS_SHOWN = 20
_COLUMNS = {
    "coverage": "coverage",
    "confirmed_coverage": "confirmed",
    "second_panel_coverage": "second panel",
    "turned_in_other_models": "turned in other models",
    "strong_coverage": "by strong ones",
    "backed_coverage": "by strong and mixed ones",
}


def print_evidence(evidence: Evidence) -> None:
    """Print the evidence on a run."""
    out.print(f"\nCan I trust this? {evidence.sentence}", markup=False, soft_wrap=True)
    for note in evidence.notes:
        out.print(note, markup=False, soft_wrap=True)
    table = Table("classifier", *_COLUMNS.values(), "matched pairs", "strong / mixed / weak")
    for control in evidence.controls:
        agree = f"{control.pairs} agree" if " of " in control.pairs else control.pairs
        cells = (*(control.share(name) for name in _COLUMNS), agree, control.verdicts)
        table.add_row(control.name, *("" if cell == "–" else cell for cell in cells))
    out.print(table)
    if evidence.models:
        out.print(_models(evidence))
    for number, recourse in enumerate(evidence.recourses[:_VERDICTS_SHOWN], start=1):
        out.print(Text(f"{number}. {recourse.summary}"), soft_wrap=True)
        out.print(Text(f"   {recourse.verdict.sentence}"), soft_wrap=True)
    if len(evidence.recourses) > _VERDICTS_SHOWN:
        out.print(f"… and {len(evidence.recourses) - _VERDICTS_SHOWN} more, in evidence.json", markup=False)


def _models(evidence: Evidence) -> Table:
    """Print the answers of each other model and architecture on all recourses."""
    names = ("other model", "took part in the choice", "recourses that work there")
    table = Table(*names, "inputs it rejects too and that are turned")
    for row in (*evidence.models, *(row for row in evidence.architectures if row.models > 1)):
        turned = f"{row.turned} of {row.rejects}" + (f" ({row.turned / row.rejects:.0%})" if row.rejects else "")
        table.add_row(row.title, "yes" if row.chosen_with else "no", f"{row.works} of {row.asked}", turned)
    return table
