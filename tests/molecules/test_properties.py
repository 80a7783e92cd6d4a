from __future__ import annotations

import pytest

from comrecgc.molecules import REACTIVE, alerts_of, properties_of, property_changes, read_smiles
from comrecgc.molecules.smiles import from_smiles

pytest.importorskip("rdkit", reason="properties need rdkit")

NAMES = ("C", "c", "N+", "O", "O-", "N")


def test_properties_of_benzene() -> None:
    found = properties_of(read_smiles("c1ccccc1"))
    assert found == {"logp": 1.69, "tpsa": 0.0, "weight": 78.1, "sa_score": 1.0}


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
        ("C=CN1CCCC1=O", None),
        ("CC(=O)C(F)(F)F", "trifluoromethyl_ketone"),
        ("COC(F)(F)F", None),
        ("c1ccccc1OC(F)F", None),
        ("CC(=O)NC", None),
        ("CCC(=O)O", None),
    ],
)
def test_what_falls_apart_is_an_alert(smiles: str, alert: str | None) -> None:
    assert list(alerts_of(read_smiles(smiles), ("unstable",))) == ([alert] if alert else [])
