"""Which changes of molecules count: what is let through unseen is what a look at every molecule lets through.

Also tests comrecgc.algorithms.rules.vocabulary.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from comrecgc.algorithms.rules.mined import _best
from comrecgc.algorithms.rules.mining import ChangeScorer, Oracle
from comrecgc.algorithms.rules.permission import MolecularPermission, is_alert
from comrecgc.algorithms.rules.reading import PatternMatcher, read_rules
from comrecgc.algorithms.rules.table import Tabulation
from comrecgc.algorithms.rules.vocabulary import Group, Vocabulary
from comrecgc.data import GraphDataset
from comrecgc.explanation import Explanation, load_explanation
from comrecgc.graphs import Graph, GraphBatch, Rung
from comrecgc.molecules import (
    BOND_NAMES,
    REACTIVE,
    MolecularChemistry,
    SmartsWishes,
    alerts_of,
    ladder_of,
    parse_molecule,
    read_smiles,
    sanitise,
)
from comrecgc.molecules.atoms import atom_of
from comrecgc.molecules.smiles import parse_smiles
from comrecgc.run import RunContext
from comrecgc.runs import open_run
from comrecgc.scoring import change_kernels
from tests.molecules.druglike import drug_like
from tests.stubs import Always, AvoidsLabel, explainer_of

MolFromSmarts = pytest.importorskip("rdkit.Chem", reason="permission needs rdkit").MolFromSmarts

NUM_INPUTS, NUM_ROWS = 12, 600


@cache
def dataset() -> GraphDataset:
    return dataset_of([smiles for smiles in drug_like(150, seed=3) if "." not in smiles])


def dataset_of(smiles: list[str]) -> GraphDataset:
    parsed = [parse_molecule(read_smiles(each)) for each in smiles]
    names = tuple(sorted({atom for each in parsed for atom in each.atoms}))
    graphs = [Graph([names.index(atom) for atom in atoms], bonds, kinds) for atoms, bonds, kinds in parsed]
    return GraphDataset(
        name="drugs", graphs=tuple(graphs), classes=np.zeros(len(graphs), np.int8), label_names=names, edge_label_names=BOND_NAMES
    )  # fmt: skip


@cache
def scorer() -> ChangeScorer:
    vocabulary = Vocabulary.of(dataset(), rung=Rung.PLAUSIBLE, theta=0.15, min_seen=2)
    return ChangeScorer(inputs=dataset().graphs[:NUM_INPUTS], vocabulary=vocabulary)


def permission(*, avoid_alerts: bool = False, wishes: SmartsWishes | None = None) -> MolecularPermission:
    chemistry = scorer().vocabulary.ladder.chemistry
    assert isinstance(chemistry, MolecularChemistry)
    return MolecularPermission(chemistry=chemistry, avoid_alerts=avoid_alerts, wishes=wishes or SmartsWishes())


def net_charge(graph: Graph) -> int:
    return sum(atom_of(dataset().label_names[label]).charge for label in graph.labels.tolist())


def same_bond(graph: Graph, change: list[int]) -> bool:
    """Whether a change is no swap, or one of groups that hang on the same kind of bond."""
    kind, first, second, value = change
    if kind != change_kernels.SWAP:
        return True
    assert graph.edge_labels is not None
    bonds = {frozenset(pair): bond for pair, bond in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True)}
    return bool(bonds[frozenset((first, second))] == scorer().vocabulary.groups[value].bond)


def is_usual(graph: Graph, change: list[int]) -> bool:
    """Whether halogens go together, and an aliphatic carbon gets one atom alone, as rdkit sees the molecule."""
    kind, first, second, value = change
    molecule = sanitise(graph, dataset().label_names)
    assert molecule is not None
    halogens = {match[0] for match in molecule.GetSubstructMatches(MolFromSmarts("[F,Cl,Br,I]"))}
    anchor = molecule.GetAtomWithIdx(first)
    if kind in (change_kernels.DETACH, change_kernels.SWAP) and second in halogens:
        return sum(other.GetIdx() in halogens for other in anchor.GetNeighbors()) == 1
    is_aliphatic = anchor.GetSymbol() == "C" and not anchor.GetIsAromatic()
    return kind != change_kernels.ATTACH or not is_aliphatic or len(scorer().vocabulary.groups[value].labels) == 1


def test_groups_take_the_place_of_others_on_the_same_bond() -> None:
    singles = scorer().changes(Oracle(classifier=Always(1.0, dataset().num_labels)))
    graphs = scorer().inputs
    other = [
        row
        for row in np.flatnonzero(singles.change[:, 0, 0] == change_kernels.SWAP).tolist()
        if not same_bond(graphs[singles.input[row]], singles.change[row, 0].tolist())
    ][:200]
    assert other  # "=O by propyl" can be made,
    assert (
        not permission().allowed(scorer(), singles.input[other], singles.change[other])[0].any()
    )  # and does not count


def test_what_is_not_looked_at_is_right() -> None:
    singles = scorer().changes(Oracle(classifier=Always(1.0, dataset().num_labels)))
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(singles))[:NUM_ROWS])
    inputs, changes = singles.input[rows], singles.change[rows]
    allowed, _ = permission().allowed(scorer(), inputs, changes)
    batch, _ = scorer().built(inputs, changes)
    num_unusual = 0
    for k, graph in enumerate(batch):
        right = sanitise(graph, dataset().label_names) is not None
        right &= abs(net_charge(graph)) <= abs(net_charge(scorer().inputs[inputs[k]]))
        right &= same_bond(scorer().inputs[inputs[k]], changes[k, 0].tolist())
        usual = is_usual(scorer().inputs[inputs[k]], changes[k, 0].tolist())
        num_unusual += right and not usual
        assert allowed[k] == (right and usual)
    assert 0 < allowed.sum() < len(allowed)
    assert num_unusual


def test_mining_keeps_what_is_permitted() -> None:
    always = Always(1.0, dataset().num_labels)
    some = ChangeScorer(inputs=dataset().graphs[:4], vocabulary=scorer().vocabulary)
    told: list[tuple[str, int, int, str]] = []
    every, permitted = (
        some.changes(Oracle(classifier=always, permission=each), RunContext(progress=lambda *row: told.append(row)))
        for each in (None, permission(avoid_alerts=True))
    )
    assert [row[1:3] for row in told if row[0] == "checking molecules"] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert 0 < permitted.accepted.sum() < every.accepted.sum()
    batch, _ = some.built(permitted.input[permitted.accepted], permitted.change[permitted.accepted])
    assert all(sanitise(graph, dataset().label_names) is not None for graph in batch)


def test_what_there_is_no_time_to_look_at_does_not_count() -> None:
    always = Always(1.0, dataset().num_labels)
    some = ChangeScorer(inputs=dataset().graphs[:4], vocabulary=scorer().vocabulary)
    singles, looked = some.changes(Oracle(classifier=always)), permission()
    oracle, now = Oracle(classifier=always, permission=looked), time.monotonic()
    (whole, _, _), (none, _, late) = (
        Tabulation(scorer=some, oracle=oracle, most_rules=100, context=RunContext().until(now + seconds)).permitted(
            singles, ()
        )
        for seconds in (1000, -1)
    )
    assert whole.accepted.any()
    assert not none.accepted.any()
    assert late.tolist() == [0, 1, 2, 3]


class OddJury:
    """Expects graphs of an odd number of nodes, and remembers how many it was asked about."""

    asked = 0

    def truth(self, batch: GraphBatch, folds: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
        assert starts is not None
        assert len(starts) == len(folds) == len(batch)
        self.asked += len(batch)
        return np.where(batch.node_counts() % 2 == 1, 0.9, 0.1)


def test_rdkit_looks_at_what_the_jury_expects_and_the_jury_is_asked_once() -> None:
    some = ChangeScorer(inputs=dataset().graphs[:6], vocabulary=scorer().vocabulary)
    singles = some.changes(Oracle(classifier=Always(1.0, dataset().num_labels)))
    rows = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(singles.accepted))[:300])
    inputs, changes, looked = singles.input[rows], singles.change[rows], permission(avoid_alerts=True)
    jury: Any = OddJury()
    oracle = Oracle(
        classifier=Always(1.0, dataset().num_labels), permission=looked, jury=jury, folds=np.zeros(6, np.int64), starts=np.zeros(6), least_truth=50
    )  # fmt: skip
    mask, late = oracle.permits(some, inputs, changes)
    odd = some.changed_inputs(inputs, changes).node_counts() % 2 == 1
    every, _ = looked.allowed(some, inputs, changes)
    assert not len(late)
    assert not every[~odd].all()
    assert mask.tolist() == (every | ~odd).tolist()
    once = jury.asked
    padded = np.concatenate([changes, np.full_like(changes, -1)], axis=1)
    assert (oracle.truth(some, inputs, padded) == np.where(odd, 90, 10)).all()
    assert jury.asked == once <= 300


def test_the_table_is_as_if_all_results_were_looked_at() -> None:
    always = Always(1.0, dataset().num_labels)
    some, looked = (
        ChangeScorer(inputs=dataset().graphs[:12], vocabulary=scorer().vocabulary),
        permission(avoid_alerts=True),
    )
    every = some.changes(Oracle(classifier=always))
    eager = some.changes(Oracle(classifier=always, permission=looked))
    goal = np.random.default_rng(0).uniform(0.1, 1, len(every))  # places differ in how well they do
    every, eager = (
        replace(it, goal=np.where(it.accepted, goal, np.nan), margin=np.where(it.accepted, goal, np.nan))
        for it in (every, eager)
    )
    lazy, _, late = Tabulation(
        scorer=some, oracle=Oracle(classifier=always, permission=looked), most_rules=60
    ).permitted(every, ())
    assert not len(late)
    wanted, got = (
        Tabulation(scorer=some, oracle=Oracle(classifier=always), most_rules=60).table(it, (), np.zeros(12))
        for it in (eager, lazy)
    )
    assert wanted.rules.key.tolist() == got.rules.key.tolist()
    for name in ("rule", "input", "change", "margin"):
        assert np.array_equal(getattr(wanted.entries, name), getattr(got.entries, name))
    assert lazy.accepted.sum() > eager.accepted.sum()  # and not all were


def test_figures_speak_of_the_molecules_that_were_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chains = [end + "C" * length for length in range(1, 8) for end in ("O", "N", "F", "CC(C)")]
    data = dataset_of([f"{chain}c1ccc({other})cc1" for chain in chains for other in ("Cl", "OC")])
    model = AvoidsLabel(label=data.label_names.index("Cl"), num_labels=data.num_labels)
    options: dict[str, Any] = {"max_changes": 1, "theta": 0.2, "panel": False, "jury": False}
    whole = explainer_of(model, **options).fit(data)
    num_looks, num_inputs = count(), len(whole.explanation_.inputs)
    original = MolecularPermission.allowed

    class LateContext:
        is_late = property(lambda _: next(num_looks) >= 14)

        def show_progress(self, *_: object) -> None:
            pass

    def allowed(self: MolecularPermission, scorer: Any, inputs: Any, changes: Any, _context: Any) -> Any:
        late: Any = LateContext()
        return original(self, scorer, inputs, changes, late)

    monkeypatch.setattr(MolecularPermission, "allowed", allowed)
    found = explainer_of(model, **options, time_budget=1000).fit(data).explanation_
    monkeypatch.undo()
    assert len(found.inputs) == 14 < num_inputs
    assert list(found.inputs) != list(whole.explanation_.inputs)[:14]
    assert found.metrics["num_out_of_time"] == num_inputs - 14
    assert any(f"14 of {num_inputs}" in note for note in found.notes)
    assert whole.mined_ is not None
    turned = set(whole.rejects_.indices[np.unique(whole.mined_.table.entries.input)].tolist())
    assert found.metrics["coverable"] == len(turned & set(found.inputs)) / 14 > 0.5
    found.save(tmp_path)
    again = load_explanation(tmp_path).choose(num_recourses=2)
    assert [note for note in again.notes if "14 of" in note] == [note for note in found.notes if "14 of" in note]
    assert list(again.inputs) == list(found.inputs)


def test_some_molecules_are_looked_at_however_late_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [end + "C" * length for length in range(1, 8) for end in ("O", "N", "F", "CC(C)")]
    data = dataset_of([f"{chain}c1ccc({other})cc1" for chain in chains for other in ("Cl", "OC")])
    model = AvoidsLabel(label=data.label_names.index("Cl"), num_labels=data.num_labels)
    options: dict[str, Any] = {"max_changes": 1, "theta": 0.2, "panel": False, "jury": False}
    monkeypatch.setattr("comrecgc.algorithms.rules.mined.most_nodes_of", lambda *_: np.inf)  # as of networks
    found = explainer_of(model, **options, time_budget=1e-3).fit(data).explanation_
    assert len(found.inputs) > 0
    assert (found.metrics["coverable"] or 0) > 0.5


def test_wishes_limit_what_is_mined() -> None:
    from rdkit import Chem

    wishes = SmartsWishes(forbid=("[#9,#17]",), protect=("a",))
    some = ChangeScorer(inputs=dataset().graphs[:4], vocabulary=scorer().vocabulary)
    singles = some.changes(Oracle(classifier=Always(1.0, dataset().num_labels), permission=permission(wishes=wishes)))
    rows = np.flatnonzero(singles.accepted)
    assert len(rows) > 0
    batch, _ = some.built(singles.input[rows], singles.change[rows])
    halogen, aromatic = Chem.MolFromSmarts("[#9,#17]"), Chem.MolFromSmarts("a")
    names = dataset().label_names
    for k, graph in enumerate(batch):
        before, after = sanitise(some.inputs[singles.input[rows[k]]], names), sanitise(graph, names)
        assert before is not None
        assert after is not None
        assert len(after.GetSubstructMatches(halogen)) <= len(before.GetSubstructMatches(halogen))
        assert len(after.GetSubstructMatches(aromatic)) >= len(before.GetSubstructMatches(aromatic))


def test_rare_atoms_are_not_offered() -> None:
    offered = scorer().vocabulary.offered_labels
    assert offered is not None
    counts = [sum(label in graph.labels for graph in dataset()) for label in range(dataset().num_labels)]
    assert offered.tolist() == [count >= 2 for count in counts]


def test_groups_that_are_alerts() -> None:
    names = ("C", "c", "N+", "O", "O-", "Cl")
    nitro = Group((2, 3, 4), ((0, 1), (0, 2)), (1, 0), 0)
    assert is_alert(nitro, names)
    assert is_alert(Group((0, 5), ((0, 1),), (0,), 0), names)  # chloromethyl
    assert not is_alert(Group((5,), (), (), 0), names, on_aromatic=True)
    assert is_alert(Group((5,), (), (), 0), names)
    assert not is_alert(Group((3,), (), (), 0), names)


def test_applied_to_other_molecules(tmp_path: Path) -> None:
    chains = ["C" * length for length in range(1, 12)]
    data = replace(dataset_of([f"{chain}c1ccc({other})cc1" for chain in chains for other in ("Cl", "OC")]), class_names=("bad", "good"))  # fmt: skip
    model = AvoidsLabel(label=data.label_names.index("Cl"), num_labels=data.num_labels)
    options: dict[str, Any] = {"max_changes": 1, "theta": 0.2, "panel": False, "jury": False}
    explainer_of(model, **options).fit(data).save(tmp_path)
    run = open_run(tmp_path, classifier=model)
    parsed = parse_molecule(read_smiles("Clc1ccc(C(C)(C)OC(C)(C)C)cc1"))
    graph = Graph([data.label_names.index(atom) for atom in parsed.atoms], parsed.bonds, parsed.bond_labels)
    other = replace(data, graphs=(graph,), classes=np.zeros(1, np.int8), class_names=("reject", "accept"))
    same, unlike = run.apply(data), run.apply(other)
    assert same.schema.class_names == unlike.schema.class_names == ("bad", "good")
    assert not any("unlike" in warning for warning in same.warnings)
    assert any("unlike" in warning for warning in unlike.warnings)


def test_alerts_are_looked_at_on_the_result() -> None:
    """A hydroxy is none on benzene, and makes a catechol beside another."""
    smiles = [
        f"{chain}c1cccc({group})c1"
        for chain in ("C", "CC", "CC(C)", "CC(C)(C)")
        for group in ("O", "OC", "N(C)C", "CO", "n2cccc2")
    ]
    data = dataset_of([*smiles, "Cc1c[nH]cc1", "CCc1c[nH]cc1", "COc1ccccc1O", "OCc1ccccc1OC"])
    some = ChangeScorer(inputs=data.graphs, vocabulary=Vocabulary.of(data, rung=Rung.CONNECTED, theta=0.3, min_seen=2))
    chemistry = ladder_of(data.graphs, data.label_names).chemistry
    assert isinstance(chemistry, MolecularChemistry)
    singles = some.changes(Oracle(classifier=Always(1.0, data.num_labels)))
    rows = np.flatnonzero(np.isin(singles.change[:, 0, 0], (change_kernels.ATTACH, change_kernels.DETACH)))
    inputs, changes = singles.input[rows], singles.change[rows]
    allowed, _ = MolecularPermission(chemistry=chemistry).allowed(some, inputs, changes)
    met = set()
    for k, graph in enumerate(some.built(inputs, changes)[0]):
        before, after = sanitise(some.inputs[inputs[k]], data.label_names), sanitise(graph, data.label_names)
        if before is not None and after is not None and allowed[k]:
            assert set(alerts_of(after, REACTIVE)) <= set(alerts_of(before, REACTIVE))
        met |= (
            set()
            if after is None or before is None
            else set(alerts_of(after, REACTIVE)) - set(alerts_of(before, REACTIVE))
        )
    assert {"catechol", "hemiacetal_or_hemiaminal"} <= met


@pytest.mark.parametrize("smiles", ["OCn1cccc1", "NCn1cccc1", "C12C=CC1C=C2", "C1CC2CCC12"])
def test_what_falls_apart_is_an_alert(smiles: str) -> None:
    assert set(alerts_of(read_smiles(smiles), ("unstable",)))


def test_shown_results_of_archives_gain_no_alerts() -> None:
    """Labels are elements, and rdkit looks at what is shown: a chlorine beside a hydroxy must not become a catechol."""
    names = ("C", "O", "Cl", "N", "F")
    smiles = [f"{'C' * length}c1ccc({other})c(O)c1" for length in range(1, 9) for other in ("Cl", "O", "OC", "F", "N")]
    parsed = [parse_smiles(each) for each in smiles]
    graphs = [Graph([names.index(atom) for atom in each.atoms], each.bonds, each.bond_labels) for each in parsed]
    data = GraphDataset(
        name="archive", graphs=tuple(graphs), classes=np.zeros(len(graphs), np.int8), label_names=names, edge_label_names=BOND_NAMES
    )  # fmt: skip
    model = AvoidsLabel(label=names.index("Cl"), num_labels=len(names))
    options: dict[str, Any] = {"max_changes": 1, "theta": 0.3, "panel": False, "jury": False, "num_recourses": 8}

    def gained(found: Explanation) -> set[str]:
        """Alerts that results have and inputs have not."""
        pairs = [(data.graphs[it.input], it.counterfactual) for each in found.recourses for it in each.covered]
        known = [[sanitise(graph, names) for graph in pair] for pair in pairs]
        assert all(molecule is not None for pair in known for molecule in pair)
        return {
            alert
            for before, after in known
            for alert in set(alerts_of(after, REACTIVE)) - set(alerts_of(before, REACTIVE))
        }

    safe, loose = (explainer_of(model, **options, allow_alerts=loose).fit(data).explanation_ for loose in (False, True))
    assert not gained(safe)
    assert "catechol" in gained(loose)
    assert safe.coverage > 0.3


def test_a_table_for_numbers_keeps_the_rules_that_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    always, jury = Always(1.0, dataset().num_labels), OddJury()
    some = ChangeScorer(inputs=dataset().graphs[:6], vocabulary=scorer().vocabulary)
    oracle = Oracle(classifier=always, jury=jury, folds=np.zeros(6, np.int64), starts=np.zeros(6))  # type: ignore[arg-type]
    singles = some.changes(oracle)
    whole = Tabulation(scorer=some, oracle=oracle, most_rules=60).table(singles, (), np.zeros(6))
    hope = dict.fromkeys(whole.rules.key.tolist(), 0.0)
    for rule, truth in zip(whole.entries.rule.tolist(), whole.entries.truth.tolist(), strict=True):
        hope[int(whole.rules.key[rule])] += max(truth - 45, 0)
    monkeypatch.setattr("comrecgc.algorithms.rules.table.MOST_EXPECTED", 9)
    few = Tabulation(scorer=some, oracle=replace(oracle, least_truth=50), most_rules=60).table(singles, (), np.zeros(6))
    kept = few.rules.key.tolist()
    assert len(kept) == 9 < len(whole)
    assert min(hope[key] for key in kept) >= max(value for key, value in hope.items() if key not in kept)


class EvenAtoms:
    """Permits changes at atoms of even number, and remembers how many it looked at."""

    looks = 0

    def allowed(self, _: object, inputs: np.ndarray, changes: np.ndarray, _context: object = None) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        self.looks += len(inputs)
        return changes[:, 0, 1] % 2 == 0, np.zeros(0, np.int32)


def test_places_are_looked_at_in_the_order_of_their_odds() -> None:
    some, looked = ChangeScorer(inputs=dataset().graphs[:6], vocabulary=scorer().vocabulary), EvenAtoms()
    always = Oracle(classifier=Always(1.0, dataset().num_labels))
    table = Tabulation(scorer=some, oracle=always, most_rules=40).table(some.changes(always), (), np.zeros(6))
    mined, oracle, sites_there = SimpleNamespace(scorer=some, table=table), replace(always, permission=looked), 0  # type: ignore[arg-type]
    for record in read_rules(table, some, np.flatnonzero(table.rules.radius == 1).tolist()):
        inputs, sites = PatternMatcher(some.inputs).sites(record.rule, np.ones(6, bool), 100)
        changes, goal = record.changes_at(sites), np.random.default_rng(0).uniform(1, 2, len(inputs))
        found = _best(mined, record, inputs, changes, goal, goal, oracle, RunContext())  # type: ignore[arg-type]
        even = changes[:, 0, 1] % 2 == 0
        wanted = {place: goal[(inputs == place) & even].max() for place in np.unique(inputs[even]).tolist()}
        assert {place: margin for place, _, margin in found or ()} == wanted
        sites_there += len(inputs)
    assert 0 < looked.looks < sites_there


def test_results_of_a_change_in_the_same_surroundings_are_taken_to_be_alike() -> None:
    data = dataset_of(
        [f"Nc1ccc(C(=O)N2CC{ring}CC2)cc1-c1ccc({end})cc1" for ring in ("C", "O", "S", "N(C)") for end in "OFC"]
    )
    ladder = ladder_of(data.graphs, data.label_names, data.edge_label_names)
    some = ChangeScorer(inputs=data.graphs, vocabulary=Vocabulary.of(data, rung=Rung.PLAUSIBLE, theta=0.2, ladder=ladder))  # fmt: skip
    assert isinstance(ladder.chemistry, MolecularChemistry)
    always, num_looks = Oracle(classifier=Always(1.0, data.num_labels)), list[int]()
    singles = some.changes(always)

    class Counting(MolecularPermission):
        def allowed(self, scorer: Any, inputs: Any, changes: Any, context: Any = None) -> Any:
            num_looks.append(len(inputs))
            return super().allowed(scorer, inputs, changes, context)

    class Hopeful:
        def truth(self, batch: GraphBatch, *_: object) -> np.ndarray:
            return np.full(len(batch), 0.9)

    looking = replace(always, permission=Counting(chemistry=ladder.chemistry))
    exact, _, _ = Tabulation(scorer=some, oracle=looking, most_rules=100).permitted(singles, ())
    all_looks = sum(num_looks)
    num_looks.clear()
    jury: Any = Hopeful()
    hopeful = replace(looking, jury=jury, folds=np.zeros(len(data), np.int64), least_truth=50, answers={})
    quick, _, _ = Tabulation(scorer=some, oracle=hopeful, most_rules=100).permitted(singles, ())
    assert 0 < sum(num_looks) < all_looks / 2
    plain = Tabulation(scorer=some, oracle=always, most_rules=100)
    wanted, got = (plain.table(it, (), np.zeros(len(data))) for it in (exact, quick))
    assert wanted.rules.key.tolist() == got.rules.key.tolist()
    assert np.array_equal(wanted.entries.change, got.entries.change)
