"""Rules in words, as someone who knows the data would say them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from comrecgc.graphs import Graph, Rule, Schema, Site, ordered_edge, write_pattern
from comrecgc.molecules import BOND_NAMES, are_types, name_substituent, smirks_of
from comrecgc.wording import english as en
from comrecgc.wording.difference import ChangedMolecule, Difference, Pair, Wordiness, ring_size
from comrecgc.wording.english import Step, Words, join_words, plural, several, with_article
from comrecgc.wording.molecules import MoleculeSentences

LONGEST_SUMMARY = 130
_FEWEST_PLACES = 3  # fewer say nothing about where a rule works
_AS_DRAWN = ", in the surroundings drawn"  # where these would take too many words
_FURTHER = " Their neighbours must be bound as drawn, too."
_ANYWHERE = ", whatever surrounds it"
_MOST_STEPS = 3  # beyond this a swap of groups is described as a whole
_SUMMARIES: tuple[Wordiness, ...] = ("long", "middle", "short")


class RuleAt(NamedTuple):
    """A rule, and graphs it was carried out on with their sites, if known.

    The graphs show what a pattern cannot, such as whether a carbon with single and double bonds is aromatic.
    """

    rule: Rule
    places: Sequence[tuple[Graph, Site]] = ()


def describe_rules(rules: Sequence[RuleAt], schema: Schema, *, taken: Collection[str] = ()) -> list[Words]:
    """Describe rules: a distinct line for each, and a few sentences that add the site, what stays, and the cost.

    `taken` are lines that other rules already have.
    """
    names, kinds = _nouns(schema), schema.edge_label_names
    found: list[MoleculeSentences | GraphSentences] = [
        MoleculeSentences(ChangedMolecule(rule, names, kinds, places))
        if schema.is_molecular
        else GraphSentences(Difference(rule, names, kinds))
        for rule, places in rules
    ]
    summaries = make_distinct(
        [_named(_summary(sentences, at.rule), sentences, at) for sentences, at in zip(found, rules, strict=True)],
        [sentences.surroundings for sentences in found],
        [_write_rule(at.rule, names, kinds, is_molecular=schema.is_molecular) for at in rules],
        taken,
    )
    return [
        Words(summary, _description(sentences, at.rule))
        for summary, sentences, at in zip(summaries, found, rules, strict=True)
    ]


def _nouns(schema: Schema) -> list[str]:
    return [en.shorten(name) if schema.is_molecular else en.noun_of(name) for name in schema.label_names]


def _summary(sentences: MoleculeSentences | GraphSentences, rule: Rule) -> str:
    """The rule on one line, with as much of its surroundings as fits."""
    for wordiness in _SUMMARIES:
        summary = sentences.text(wordiness)
        where = _AS_DRAWN if rule.radius > 1 and not sentences.tells_all(summary) else ""
        if len(summary) + len(where) <= LONGEST_SUMMARY:
            return summary + where
    return f"{summary[: LONGEST_SUMMARY - len(where) - 1].rstrip(' ,–(')}…{where}"


def _named(summary: str, sentences: MoleculeSentences | GraphSentences, at: RuleAt) -> str:
    """The line with what chemists call the change before it, or the ring that it opens or closes behind it, if there is room."""
    if isinstance(sentences, MoleculeSentences):
        whole = f"{sentences.transformation}: {summary}" if sentences.transformation else summary
    else:
        whole = summary + _motif(at)
    return whole if len(whole) <= LONGEST_SUMMARY else summary


def _motif(at: RuleAt) -> str:
    """Where in graphs a rule changes one edge or one node, if that is the same at all of several places: " (an edge of a 5-cycle in all 12 graphs)"."""
    rule, image = at.rule, at.rule.image
    if len(at.places) < _FEWEST_PLACES:
        return ""
    everywhere = f"in all {len(at.places)} graphs"
    kept = {ordered_edge(image[i], image[j]): (i, j) for i in image for j in image if i < j}
    cut = [(i, j) for edge, (i, j) in kept.items() if (i, j) in rule.before.bonds and edge not in rule.after.bonds]
    joined = [(i, j) for edge, (i, j) in kept.items() if (i, j) not in rule.before.bonds and edge in rule.after.bonds]
    if len(cut) + len(joined) == 1:
        ((i, j),) = cut or joined
        size = _same(ring_size(graph.fresh().neighbours_by_id(), site[i], site[j]) for graph, site in at.places)
        if size is None or (joined and not size):
            return ""
        if joined:
            return f" (which closes {_ring(size)} {everywhere})"
        return f" ({f'an edge of {_ring(size)}' if size else 'a bridge'} {everywhere})"
    anchors = {i for i in image if rule.before.labels[i] != rule.after.labels[image[i]]}
    new = set(range(len(rule.after.labels))) - set(image.values())
    anchors |= {i for i in image if any(ordered_edge(image[i], node) in rule.after.bonds for node in new)}
    if cut or joined or len(anchors) != 1:
        return ""
    size = _same(_node_ring(graph, site[min(anchors)]) for graph, site in at.places)
    return f" (a node of {_ring(size)} {everywhere})" if size else ""


def _same(sizes: Iterable[int]) -> int | None:
    """The common value of all items, or None."""
    found = set(sizes)
    return found.pop() if len(found) == 1 else None


def _ring(size: int) -> str:
    return "a triangle" if size == 3 else f"a {size}-cycle"


def _node_ring(graph: Graph, node: int) -> int:
    """Nodes of the smallest ring through a node; 0 if there is none."""
    around = graph.fresh().neighbours_by_id()
    sizes = [ring_size(around, node, other) for other in around[node]]
    return min((size for size in sizes if size), default=0)


def _description(sentences: MoleculeSentences | GraphSentences, rule: Rule) -> str:
    full = sentences.text("full")
    further = _FURTHER if rule.radius > 1 else ""
    cost = f"Everything else stays as it is. Cost: {rule.cost} (nodes and edges added, removed or relabelled)."
    return f"{full[:1].upper()}{full[1:]}. {sentences.conditions}{further} {cost}"


def make_distinct(
    summaries: Sequence[str], surroundings: Sequence[Sequence[str]], written: Sequence[str], taken: Collection[str] = ()
) -> list[str]:
    """Make the lines of rules distinct, also from those that are taken: equal ones get the surroundings in which they differ, or else the rule as a formula."""
    found = list(summaries)
    for same in _repeated(found, taken):
        shared = set.intersection(*(set(surroundings[k]) for k in same)) if len(same) > 1 else set()
        for k in same:
            own = [text for text in surroundings[k] if text not in shared]
            found[k] = found[k].removesuffix(_AS_DRAWN) + (f", where {join_words(own)}" if own else _ANYWHERE)
    for same in _repeated(found, taken):
        for k in same:
            found[k] = f"{summaries[k]}: {written[k]}"
    return found


def _write_rule(rule: Rule, names: Sequence[str], edge_label_names: Sequence[str] | None, *, is_molecular: bool) -> str:
    """A rule as a formula: a SMIRKS for molecules, else the same notation with label names."""
    smirks = smirks_of(rule, names, edge_label_names) if is_molecular else None
    if smirks is not None:
        return smirks
    order = {old: f":{k + 1}" for k, (old, _) in enumerate(rule.kept)}
    back = {new: order[old] for old, new in rule.kept}
    before = [
        f"[{names[label]}{f' D{len(rule.before.neighbours[node])}' if rule.closed[node] else ''}{order.get(node, '')}]"
        for node, label in enumerate(rule.before.labels)
    ]
    after = [f"[{names[label]}{back.get(node, '')}]" for node, label in enumerate(rule.after.labels)]
    signs = ["~"] if edge_label_names is None else [f"~{name}~" for name in edge_label_names]
    return f"{write_pattern(rule.before, before, signs)}>>{write_pattern(rule.after, after, signs)}"


def _repeated(lines: Sequence[str], taken: Collection[str]) -> list[list[int]]:
    """Indices of equal lines, and of lines that are taken, in groups."""
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        places.setdefault(line, []).append(place)
    return [same for line, same in places.items() if len(same) > 1 or line in taken]


def describe_group(labels: Sequence[int], bonds: Mapping[Pair, int], bond: int, schema: Schema) -> str:
    """Name of a group whose first node hangs on one node by an edge of label `bond`: "nitro (–NO2)", "–CH2–Br", "chain helix–sheet"."""
    names, kinds = _nouns(schema), schema.edge_label_names
    nodes = {node: names[label] for node, label in enumerate(labels)}
    kinds = None if kinds is None or not set(kinds) <= set(BOND_NAMES) else kinds
    if not schema.is_molecular:
        return _group(set(nodes), nodes, dict.fromkeys(bonds), -1)
    inner = {pair: None if kinds is None else kinds[label] for pair, label in bonds.items()}
    tie = None if kinds is None else kinds[bond]
    found = name_substituent(nodes, inner, 0, tie, fill=are_types(names) or "H" not in names)
    return found.formula if found.name is None else f"{found.name} ({found.formula})"


class GraphSentences:
    """Sentences on a rule for graphs with any labels."""

    def __init__(self, difference: Difference) -> None:
        self._d = difference

    def text(self, wordiness: Wordiness) -> str:
        """The rule in one sentence, with the surroundings of its nodes if `wordiness` allows."""
        context = wordiness in ("full", "long")
        return en.sentence(
            [steps for part in self._d.parts(self._d.around) if (steps := self._steps(part, context=context))]
        )

    @property
    def conditions(self) -> str:
        """Conditions that the sentence does not name."""
        if self._d.rule.radius == 0:
            return "It applies wherever such nodes occur, whatever surrounds them."
        return "The nodes that it changes, joins or cuts must have exactly the neighbours named."

    @property
    def surroundings(self) -> list[str]:
        """Clauses on the neighbours of changed nodes: "the helix is among three helices"."""
        d = self._d
        ends = {node for pair in d.changed_bonds for node in pair}
        nodes = sorted({*d.relabelled, *ends} & d.closed & set(d.kept))
        around = [f"the {d.old[node]} is{self._around(node, context=True)}" for node in nodes]
        return list(dict.fromkeys(around)) if d.rule.radius else []

    def tells_all(self, text: str) -> bool:
        """Whether a sentence describes all surroundings that the rule shows."""
        return self._d.rule.radius < 2 and bool(text)

    def _steps(self, part: set[int], *, context: bool) -> list[Step]:
        """The steps in one connected part of the pattern."""
        steps = self._single_steps(part, context=context)
        if len(steps) > _MOST_STEPS:
            found = [(node, group) for node, group in self._d.hanging(self._d.kept) if node in part]
            if found:
                anchor, group = max(found, key=lambda item: (len(item[1]), -item[0]))
                old = _group(group & set(self._d.old), self._d.old, self._d.old_bonds, anchor)
                new = _group(group & set(self._d.new), self._d.new, self._d.new_bonds, anchor)
                place = self._noun(anchor, context=context)
                return [Step("replace", with_article(old), "on", f"{place} by {with_article(new)}")]
        return steps

    def _single_steps(self, part: set[int], *, context: bool) -> list[Step]:
        d = self._d
        steps: list[Step] = []
        named: list[int] = []
        relabels: dict[tuple[str, str], list[int]] = {}
        for node in (node for node in d.relabelled if node in part):
            relabels.setdefault((self._noun(node, context=context), d.new[node]), []).append(node)
        for (_, new), same in relabels.items():
            count = len(same)
            around = self._around(same[0], context=context)
            several_of = several(d.old[same[0]], count) + (f", each{around}," if around and count > 1 else around)
            steps.append(Step("relabel", several_of, "to", new.removeprefix("node of label ")))
            named += same
        for pair in d.changed_bonds:
            if set(pair) <= part & set(d.kept):
                steps.append(self._edge_step(pair, context=context and not set(pair) & set(named)))
                named += [node for node in pair if node not in named]
        for comes, nodes in ((False, d.removed), (True, d.added)):
            at: dict[tuple[int, ...], list[set[int]]] = {}
            for group in d.parts(node for node in nodes if node in part):
                anchors = {other for node in group for other in d.around[node]} - group
                at.setdefault(tuple(sorted(anchors)), []).append(group)
            for place, groups in at.items():
                steps.append(self._group_step(place, groups, named, comes=comes, context=context))
                named += [node for node in place if node not in named]
        return steps

    def _group_step(
        self, anchors: tuple[int, ...], groups: Sequence[set[int]], named: Sequence[int], *, comes: bool, context: bool
    ) -> Step:
        d = self._d
        names, bonds = (d.new, d.new_bonds) if comes else (d.old, d.old_bonds)
        what = _count_groups([_group(group, names, bonds, *anchors) for group in groups])
        if not anchors:
            return Step("add", what, "apart from", "the rest") if comes else Step("remove", what)
        place = self._anchors(anchors, context=context)
        if set(anchors) <= set(named):
            place = "it" if len(named) == 1 else "one of them" if len(anchors) == 1 else "them"
        kinds = {bonds.get(ordered_edge(node, anchor)) for group in groups for node in group for anchor in anchors} - {
            None
        }
        by = f" by {en.edge_of(str(kinds.pop()))}" if comes and len(kinds) == 1 else ""
        return Step("attach", what, "to", place + by) if comes else Step("remove", what, "from", place)

    def _edge_step(self, pair: Pair, *, context: bool) -> Step:
        d = self._d
        ends = self._ends(pair, context=context)
        if pair not in d.old_bonds:
            bond = d.new_bonds[pair]
            return Step("join", ends, *(("by", en.edge_of(bond)) if bond else ()))
        if pair not in d.new_bonds:
            return Step("cut", f"the edge between {ends}")
        return Step("turn", f"the edge between {ends}", "into", en.edge_of(str(d.new_bonds[pair])))

    def _ends(self, pair: Pair, *, context: bool) -> str:
        nouns = [self._d.old[node] for node in pair]
        contexts = [self._around(node, context=context).strip() for node in pair]
        return en.join_ends(nouns, contexts, several(nouns[0], 2))

    def _anchors(self, anchors: Sequence[int], *, context: bool) -> str:
        nouns = [self._noun(node, context=context) for node in anchors]
        same = len(set(nouns)) == 1 < len(nouns)
        return several(self._d.old[anchors[0]], len(nouns)) if same else join_words(nouns)

    def _noun(self, node: int, *, context: bool) -> str:
        """A kept node: "a helix", "a helix among three helices"."""
        return with_article(self._d.old[node]) + self._around(node, context=context)

    def _around(self, node: int, *, context: bool) -> str:
        """The kept neighbours of a node, if the rule shows all its neighbours."""
        d = self._d
        if not context or node not in d.closed or d.rule.radius == 0:
            return ""
        beside = [
            other for other in d.around[node]
            if other in d.kept and ordered_edge(node, other) in d.old_bonds and ordered_edge(node, other) not in d.changed_bonds
        ]  # fmt: skip
        if not beside:
            return " with no other neighbours" if d.around[node] else " with no neighbours"
        return f" {'among' if len(beside) > 1 else 'beside'} {en.count_nouns(d.old[other] for other in beside)}"


def _group(part: set[int], names: dict[int, str], bonds: dict[Pair, str | None], *anchors: int) -> str:
    """Name of nodes that are added or removed together: "sheet", "chain helix–sheet", "chain of labels 3–1", "ring of four sheets"."""
    if len(part) == 1:
        return names[min(part)]
    inner = [pair for pair in bonds if set(pair) <= part]
    degrees = {node: sum(node in pair for pair in inner) for node in sorted(part)}
    if len(inner) == len(part) - 1 and max(degrees.values()) <= 2:
        ends = [node for node, degree in degrees.items() if degree == 1]
        chain = [
            next((node for node in ends if any(ordered_edge(node, anchor) in bonds for anchor in anchors)), ends[0])
        ]
        while len(chain) < len(part):
            chain += [other for other in degrees if other not in chain and ordered_edge(chain[-1], other) in inner]
        words = [names[node] for node in chain]
        unnamed = [name.removeprefix("node of label ") for name in words]
        return f"chain {'–'.join(words)}" if words == unnamed else f"chain of labels {'–'.join(unnamed)}"
    is_ring = len(inner) == len(part) and set(degrees.values()) == {2}
    is_clique = len(inner) == len(part) * (len(part) - 1) // 2
    return (
        f"{'ring' if is_ring else 'clique' if is_clique else 'group'} of {en.count_nouns(names[node] for node in part)}"
    )


def _count_groups(groups: Sequence[str]) -> str:
    """Groups as a list, equal ones counted: "two chains helix–sheet and a turn"."""
    texts = []
    for group, count in Counter(groups).items():
        head, _, rest = group.partition(" ")
        is_shape = head in ("chain", "ring", "clique", "group") and bool(rest)
        texts.append(f"{en.number(count)} {plural(head)} {rest}" if count > 1 and is_shape else several(group, count))
    return join_words(texts)
