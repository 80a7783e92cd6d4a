"""benchmarks/known_truth.py and the groups of Kazius et al. in benchmarks/evidence.py: harder planted sets, and what recourses do to known groups."""

from __future__ import annotations

import numpy as np
import pytest

from comrecgc.data import DatasetIndex, PlantedDataset, find_toxicophores
from comrecgc.errors import InputError
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation
from comrecgc.explanation.records import RejectedInput
from comrecgc.graphs import Graph, apply_path, edits_between
from comrecgc.molecules import is_valid_molecule
from evidence import kazius_groups, published_changes
from known_truth import DIFFICULTIES, compare_with_planted, planted
from tests.data.true_recourses import true_recourses


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_harder_sets_are_what_they_say(difficulty: str) -> None:
    dataset = planted(difficulty, num_graphs=80)  # type: ignore[arg-type]
    assert len(dataset) == 80
    found = [find_toxicophores(graph) for graph in dataset.graphs]
    assert tuple(found) == dataset.toxicophores
    toxic = np.array([bool(groups) for groups in found])
    assert 0.4 <= toxic.mean() <= 0.6
    wrong = (dataset.classes == 1) == toxic
    assert (wrong.mean() > 0.03) if difficulty == "noise" else not wrong.any()
    assert all(is_valid_molecule(graph, dataset.label_names) for graph in dataset.graphs)
    if difficulty == "overlap":
        assert all(len(groups) != 1 for groups in found)
    if difficulty == "decoy":
        has = np.array([(graph.labels == dataset.label_names.index("Br")).any() for graph in dataset.graphs])
        assert has[toxic].mean() > 0.75
        assert has[~toxic].mean() < 0.25
    again = planted(difficulty, num_graphs=80)  # type: ignore[arg-type]
    assert [graph.labels.tolist() for graph in again.graphs] == [graph.labels.tolist() for graph in dataset.graphs]
    assert again.classes.tolist() == dataset.classes.tolist()


def test_an_unknown_difficulty_is_one_line() -> None:
    with pytest.raises(InputError, match="difficulty must be one of plain, overlap"):
        planted("hard")  # type: ignore[arg-type]


def explained(dataset: PlantedDataset, changed: dict[int, Graph]) -> Explanation:
    """A made-up explanation of one recourse."""
    members = tuple(
        CoveredInput(
            input=DatasetIndex(index), probability=0.9, distance=0.01, num_edits=1, counterfactual=graph,
            edits=edits_between(dataset[index], graph),
        )
        for index, graph in changed.items()
    )  # fmt: skip
    return Explanation(
        schema=dataset.schema, parameters={}, metrics={}, uncovered=(),
        inputs={i: RejectedInput(dataset[i], 0.9) for i in changed},
        recourses=(CommonRecourse(summary="a recourse", vector=(1.0,), covered=members),),
    )  # fmt: skip


def test_true_recourses_cure_and_others_do_not() -> None:
    dataset = planted(num_graphs=60)
    single = [i for i, groups in enumerate(dataset.toxicophores) if len(groups) == 1]
    cured = {
        i: apply_path(dataset[i], next(iter(true_recourses(dataset.toxicophores[i][0]).values()))) for i in single[:4]
    }
    same = {i: dataset[i] for i in single[4:7]}
    truth = compare_with_planted(explained(dataset, cured | same), dataset)
    assert (truth.counterfactuals, truth.cured, truth.touching) == (7, 4, 4)
    assert truth.precision == truth.share_cured == 4 / 7
    names = {dataset.toxicophores[i][0].name for i in single[:7]}
    removed = {dataset.toxicophores[i][0].name for i in single[:4]}
    assert (truth.kinds, truth.found) == (len(names), len(removed))
    assert compare_with_planted(explained(dataset, cured), dataset, recourses=[]).precision is None


def test_published_groups_are_valid_patterns_and_seen_where_they_are() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    groups = kazius_groups()
    assert {group.kind for group in groups} == {"toxicophore", "detoxifying"}
    assert len({group.name for group in groups}) == len(groups) >= 25
    patterns = {group.name: chem.MolFromSmarts(group.smarts) for group in groups}
    assert all(pattern is not None for pattern in patterns.values())

    def names(smiles: str) -> set[str]:
        molecule = chem.MolFromSmiles(smiles)
        return {name for name, pattern in patterns.items() if molecule.HasSubstructMatch(pattern)}

    assert names("O=[N+]([O-])c1ccccc1") == {"specific aromatic nitro"}
    assert names("Nc1ccccc1") == {"specific aromatic amine"}
    assert names("CN(C)N=O") == {"nitrosamine"}
    assert names("C1OC1C") == {"epoxide"}
    assert names("FC(F)(F)c1ccccc1") == {"trifluoromethyl on an aromatic ring"}
    assert names("CCO") == set()


def test_changes_of_published_groups_are_counted() -> None:
    pytest.importorskip("rdkit")
    dataset = planted(num_graphs=60)
    index = next(i for i, groups in enumerate(dataset.toxicophores) if [g.name for g in groups] == ["epoxide"])
    cured = apply_path(dataset[index], true_recourses(dataset.toxicophores[index][0])["make it a cyclopropane"])
    (found,) = published_changes(explained(dataset, {index: cured}), kazius_groups())
    assert found["loses"].get("epoxide") == 1.0
    assert found["agrees"] == 1.0
