from __future__ import annotations

import pytest

from comrecgc.molecules import REACTIVE, alerts_of, num_strays, property_changes, read_smiles
from comrecgc.molecules.plausibility import properties_of
from comrecgc.molecules.smiles import from_smiles

pytest.importorskip("rdkit", reason="properties need rdkit")

NAMES = ("C", "c", "N+", "O", "O-", "N")


def test_properties_of_benzene() -> None:
    found = properties_of(read_smiles("c1ccccc1"))
    assert found == {"logp": 1.69, "tpsa": 0.0, "weight": 78.1, "sa_score": 1.0, "qed": 0.44}


def test_properties_stay_in_the_range_of_drugs() -> None:
    light, heavy, heavier = (read_smiles(f"CC(=O)Nc1ccc(O)cc1{'C(=O)NC' * n}") for n in (0, 6, 7))
    assert not num_strays(light, read_smiles("CC(=O)Nc1ccc(OC)cc1"))
    was, now = properties_of(light), properties_of(heavy)
    limits = {"logp": (-1, 5), "tpsa": (0, 140), "weight": (0, 500), "sa_score": (1, 6), "qed": (0.3, 1)}
    outside = [[not low <= known[name] <= high for name, (low, high) in limits.items()] for known in (was, now)]
    assert not any(outside[0])
    assert num_strays(light, heavy) == sum(outside[1]) > 1
    assert num_strays(heavy, heavier)  # farther outside
    assert not num_strays(heavier, heavy)


def test_alerts() -> None:
    assert "nitro_group" in alerts_of(read_smiles("Cc1ccccc1[N+](=O)[O-]"), REACTIVE)
    assert alerts_of(read_smiles("CCO")) == ()


def test_changes_are_medians() -> None:
    nitro, amide = from_smiles("Cc1ccccc1[N+](=O)[O-]", NAMES), from_smiles("Cc1ccccc1C(N)=O", NAMES)
    found = property_changes([nitro, nitro, nitro], [amide, nitro, amide], NAMES)
    assert found is not None
    assert (found["num"], found["lose_alerts"], found["gain_alerts"]) == (3, 2, 0)
    assert found["weight"] == pytest.approx(-2.0, abs=0.2)
    assert property_changes([], [], NAMES) is None


@pytest.mark.parametrize(
    ("smiles", "alert"),
    [
        ("CCOC(=O)O", "carbonic_or_carbamic_acid"),
        ("CNC(=O)O", "carbonic_or_carbamic_acid"),
        ("CC(O)OC", "hemiacetal_or_hemiaminal"),
        ("CC(F)OC", "halogen_beside_heteroatom"),
        ("CN(F)C", "halogen_on_heteroatom"),
        ("CC(O)=CC", "enol"),
        ("CC(=C)N(C)C", "enamine_of_a_ketone"),
        ("C=CN1CCCC1=O", "vinyl_on_heteroatom"),
        ("C=Cc1ccccc1", "styrene_or_azadiene"),
        ("C=CCN(C)C", None),
        ("CCOP(=O)(OCC)Oc1ccccc1", "oxon"),
        ("CCOP(=S)(OCC)Oc1ccccc1", None),
        ("OCn1cccc1", "hemiacetal_or_hemiaminal"),
        ("CC(=O)C(F)(F)F", "trifluoromethyl_ketone"),
        ("COC(F)(F)F", None),
        ("c1ccccc1OC(F)F", None),
        ("CC(=O)NC", None),
        ("CCC(=O)O", None),
    ],
)
def test_what_falls_apart_is_an_alert(smiles: str, alert: str | None) -> None:
    assert list(alerts_of(read_smiles(smiles), ("unstable",))) == ([alert] if alert else [])
