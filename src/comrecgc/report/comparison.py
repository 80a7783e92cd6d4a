"""Comparison of finished runs: the recourses that hold for all of them or for one, and the graphs each run covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.reading import rule_isomorphism
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.errors import InputError
from comrecgc.explanation import CommonRecourse, Explanation, csv_text, frame_of
from comrecgc.graphs import Rule
from comrecgc.report.explorer import loaded_chooser
from comrecgc.run import write_text

if TYPE_CHECKING:
    import pandas as pd


HOLDS = 0.5  # A rule holds for a run if its success there is at least this share of its best

_COLUMNS = ("summary", "verdict")
_RUN_COLUMNS = ("place", "accepted", "applicable", "success", "nearest", "nearest_share")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A recourse in one run: its number among those chosen there, from 1, and the inputs that it turns; None if the run does not know it.

    `nearest` is the number of the recourse chosen there that covers most of the same graphs, and its share is of those that both runs reject.
    """

    place: int | None
    accepted: int | None = None
    applicable: int | None = None
    nearest: int | None = None
    nearest_share: float | None = None

    @property
    def success(self) -> float | None:
        """Share of the inputs it can be carried out on that it turns."""
        return None if self.accepted is None or not self.applicable else self.accepted / self.applicable

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95% interval of the success."""
        return None if self.accepted is None or not self.applicable else wilson_interval(self.accepted, self.applicable)


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedRecourse:
    """A recourse that some run chose, as in the first such run, with its standing in each run."""

    recourse: CommonRecourse
    standings: tuple[Standing, ...]

    @property
    def holds(self) -> tuple[bool, ...]:
        """For each run whether the recourse holds there: its success is at least half of its best."""
        best = max((standing.success or 0.0 for standing in self.standings), default=0.0)
        return tuple(
            standing.place is not None if standing.success is None else standing.success >= HOLDS * best
            for standing in self.standings
        )

    def verdict(self, names: Sequence[str]) -> str:
        """The runs for which the recourse holds, in words."""
        holds = [name for name, holds in zip(names, self.holds, strict=True) if holds]
        if len(holds) == len(names):
            return "holds for both" if len(names) == 2 else "holds for all"
        weaker = [
            name for name, holds, standing in zip(names, self.holds, self.standings, strict=True)
            if not holds and standing.accepted
        ]  # fmt: skip
        return f"only {', '.join(holds)}" + (f"; weaker in {', '.join(weaker)}" if weaker else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedRun:
    """A run of the comparison; for rules with its table, if available, and the rows of its recourses."""

    name: str
    explanation: Explanation
    mined: MinedRules | None
    rows: tuple[int, ...]

    @property
    def table(self) -> RuleTable | None:
        """The table of rules, if available."""
        return None if self.mined is None else self.mined.table

    def row(self, rule: Rule, key: int) -> int | None:
        """Row of the rule in its table; None where there is none. Rules of one key may have other patterns, which are other rules."""
        row = self.row_of.get(key)
        if row is None or self.mined is None:
            return None
        return row if rule_isomorphism(rule, self.mined.rules([row])[0].rule) is not None else None

    @cached_property
    def reach(self) -> list[frozenset[int]]:
        """Inputs that each recourse covers, whether or not one before it does."""
        return [
            frozenset([*(member.input for member in one.covered), *one.also_covers])
            for one in self.explanation.recourses
        ]

    @cached_property
    def covered(self) -> frozenset[int]:
        """Inputs that it covers."""
        return frozenset().union(*self.reach)

    @cached_property
    def row_of(self) -> Mapping[int, int]:
        """Row of the table for every rule, by what it is known by."""
        return {} if self.table is None else {int(key): row for row, key in enumerate(self.table.rules.key.tolist())}


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Runs side by side: every recourse that some run chose, those of the first run first, and the inputs that all runs have."""

    runs: tuple[ComparedRun, ...]
    recourses: tuple[ComparedRecourse, ...]
    common: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """What the runs are called."""
        return tuple(run.name for run in self.runs)

    def rules_cover(self, rules: int, inputs: int) -> float | None:
        """Share of one run's inputs that another run's rules turn there, as far as its table has them; None without a table."""
        origin, target = self.runs[rules], self.runs[inputs]
        if origin.table is None or target.table is None:
            return None
        table = target.table
        known = zip(origin.explanation.recourses, origin.table.rules.key[list(origin.rows)].tolist(), strict=True)
        found = [target.row(one.rule, key) for one, key in known if one.rule is not None]
        rows = [row for row in found if row is not None]
        turned = {place for row in rows for place in table.inputs_of(row).tolist()}
        return len(turned) / max(table.num_inputs, 1)

    def overlap(self, first: int, second: int) -> dict[str, int]:
        """Of the inputs common to two runs, the numbers that both, one, or none cover."""
        one, other = self.runs[first], self.runs[second]
        shared = frozenset(one.explanation.inputs) & frozenset(other.explanation.inputs)
        mine, theirs = one.covered & shared, other.covered & shared
        parts = {
            "both": mine & theirs,
            "first": mine - theirs,
            "second": theirs - mine,
            "neither": shared - mine - theirs,
        }
        return {"shared": len(shared)} | {name: len(part) for name, part in parts.items()}

    def rows(self) -> list[list[Any]]:
        """A header, then a row for every recourse."""
        header = [*_COLUMNS, *(f"{column} ({run.name})" for run in self.runs for column in _RUN_COLUMNS)]
        rows: list[list[Any]] = [header]
        for one in self.recourses:
            cells = [getattr(standing, name) for standing in one.standings for name in _RUN_COLUMNS]
            rows.append([one.recourse.summary, one.verdict(self.names), *cells])
        return rows

    def to_csv(self) -> str:
        """The table as CSV."""
        return csv_text(self.rows())

    def to_frame(self) -> pd.DataFrame:
        """The table as a data frame. Needs pandas."""
        return frame_of(self.rows())

    def to_markdown(self) -> str:
        """The runs, what they share, and the table of recourses, as Markdown."""
        lines = [_line(["run", "covered", "rejected graphs", "recourses", "kind", "changes"]), _line(["---"] * 6)]
        lines += [
            _line([run.name, f"{it.coverage:.1%}", len(it.inputs), len(it.recourses), it.recourse, it.changes])
            for run in self.runs
            for it in (run.explanation,)
        ]
        lines += ["", *(f"- {sentence}" for sentence in self.sentences()), ""]
        lines += [_line(["what to change", "for whom", *self.names]), _line(["---"] * (2 + len(self.runs)))]
        lines += [
            _line([one.recourse.summary, one.verdict(self.names), *map(standing_words, one.standings)])
            for one in self.recourses
        ]
        return "\n".join(lines) + "\n"

    def sentences(self) -> list[str]:
        """What the runs have in common, a sentence each."""
        found = []
        for (i, first), (j, second) in combinations(enumerate(self.names), 2):
            it = self.overlap(i, j)
            either = f"only {first} {it['first']}, only {second} {it['second']}, neither {it['neither']}"
            found.append(f"{first} and {second} both reject {it['shared']} graphs: both cover {it['both']}, {either}.")
            for rules, inputs in ((i, j), (j, i)):
                if (share := self.rules_cover(rules, inputs)) is not None:
                    turned = f"{share:.1%} of the graphs that {self.names[inputs]} rejects"
                    found.append(f"The rules of {self.names[rules]} turn {turned}.")
        return found

    def write_page(self, path: str | Path) -> None:
        """Write the comparison as one HTML file."""
        write_text(Path(path), self.to_html())

    def to_html(self) -> str:
        """The comparison as one HTML page: no network, no script."""
        from comrecgc.report.pages import render_comparison

        return render_comparison(self)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self.names))}, recourses={len(self.recourses)}, common={len(self.common)})"

    def _repr_html_(self) -> str:
        from comrecgc.report.pages import comparison_table

        return comparison_table(self)


def compare(*explanations: Explanation, names: Sequence[str] | None = None) -> Comparison:
    """Compare finished runs on the same graphs: two models, two versions of one, vectors against rules.

    A rule is looked up in the tables of all runs, which have its figures even if it was not chosen.

    Args:
        explanations: Two or more; rules need their tables (of `comrecgc.open_run`, or the result of `fit`).
        names: What the runs are called; by default "run 1", "run 2" …
    """
    if len(explanations) < 2:
        raise InputError(f"compare needs at least two runs (got {len(explanations)})")
    called = [f"run {k + 1}" for k in range(len(explanations))] if names is None else list(names)
    if len(called) != len(explanations) or len(set(called)) < len(called):
        raise InputError(f"names must be one per run, all different (got {', '.join(called)})")
    common = _checked_common(explanations, called)
    runs = tuple(_run(name, explanation) for name, explanation in zip(called, explanations, strict=True))
    return Comparison(runs=runs, recourses=tuple(_recourses(runs)), common=common)


def _checked_common(explanations: Sequence[Explanation], names: Sequence[str]) -> frozenset[int]:
    """Inputs common to all runs, which must be about the same graphs."""
    first = explanations[0]
    for name, other in zip(names[1:], explanations[1:], strict=True):
        of_first, of_other = ((it.schema.label_names, it.schema.edge_label_names) for it in (first, other))
        if of_first != of_other:
            raise InputError(f"Runs must be about the same labels: those of {names[0]} and {name} differ")
        shared = first.inputs.keys() & other.inputs.keys()
        if any(first.inputs[index].graph != other.inputs[index].graph for index in shared):
            raise InputError(f"Runs must be about the same graphs: those of {names[0]} and {name} differ")
        named = [it.schema.dataset for it in (first, other)]
        if not shared and named[0] != named[1]:
            raise InputError(f"Runs must be about the same graphs (got {named[0]} and {named[1]})")
    return frozenset(first.inputs).intersection(*(other.inputs for other in explanations[1:]))


def _run(name: str, explanation: Explanation) -> ComparedRun:
    chooser = loaded_chooser(explanation)
    rows = () if chooser is None else tuple(it.row for it in explanation.recourses if it.row is not None)
    return ComparedRun(name=name, explanation=explanation, mined=None if chooser is None else chooser.mined, rows=rows)


def _recourses(runs: Sequence[ComparedRun]) -> list[ComparedRecourse]:
    """Every chosen recourse once: rules of the same key and pattern are the same."""
    found: list[ComparedRecourse] = []
    seen: dict[int, list[Rule]] = {}
    for number, run in enumerate(runs):
        for place, recourse in enumerate(run.explanation.recourses):
            key = None if run.table is None else int(run.table.rules.key[run.rows[place]])
            if key is not None and recourse.rule is not None:
                alike = seen.setdefault(key, [])
                if any(rule_isomorphism(recourse.rule, other) is not None for other in alike):
                    continue
                alike.append(recourse.rule)
            standings = [_standing(runs, number, place, key, other) for other in range(len(runs))]
            found.append(ComparedRecourse(recourse=recourse, standings=tuple(standings)))
    return found


def _standing(runs: Sequence[ComparedRun], number: int, place: int, key: int | None, other: int) -> Standing:
    """Standing in run `other` of recourse `place` of run `number`."""
    run = runs[other]
    nearest, share = _nearest(runs[number], place, run) if other != number else (None, None)
    rule = runs[number].explanation.recourses[place].rule
    row = None if key is None or rule is None else run.row(rule, key)
    if row is not None and run.table is not None:
        chosen = run.rows.index(row) + 1 if row in run.rows else None
        applicable = int(run.table.rules.num_applicable[row])
        if chosen is not None:  # the run counted exactly where all of a composite rule fits
            applicable = int(run.explanation.recourses[chosen - 1].statistics.get("applicable") or applicable)
        return Standing(
            place=chosen, accepted=int(run.table.num_accepted[row]), applicable=applicable,
            nearest=nearest, nearest_share=share,
        )  # fmt: skip
    if other != number:
        known = 0 if key is not None and run.table is not None else None
        return Standing(place=None, accepted=known, applicable=None, nearest=nearest, nearest_share=share)
    return Standing(place=place + 1)


def _nearest(run: ComparedRun, place: int, other: ComparedRun) -> tuple[int | None, float | None]:
    """The recourse of another run that covers the most of the same graphs, from 1, and its share of those both runs reject."""
    mine = run.reach[place] & other.explanation.inputs.keys()
    shares = [len(mine & reach) / len(mine) for reach in other.reach] if mine else []
    if not shares or max(shares) == 0:
        return None, None
    return shares.index(max(shares)) + 1, max(shares)


def standing_words(standing: Standing) -> str:
    """The standing of a recourse in a run, in a few words."""
    words = f"no. {standing.place}: " if standing.place else ""
    if standing.success is not None and standing.interval is not None:
        low, high = standing.interval
        words += f"{standing.accepted} of {standing.applicable}, {standing.success:.0%} ({100 * low:.0f}–{high:.0%})"
    elif standing.accepted == 0:
        words += "not in its table"
    elif standing.place:
        words = f"no. {standing.place}"
    else:
        words = "–"
    if standing.nearest is not None and standing.place is None:
        words += f"; no. {standing.nearest} covers {standing.nearest_share:.0%} of its graphs"
    return words


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
