from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import comrecgc
from comrecgc.errors import InputError
from tests.stubs import AvoidsLabel, Histogram, small_dataset

HEAVY = {"torch", "torch_geometric", "numba", "scipy", "sklearn", "rdkit", "networkx", "matplotlib", "pandas"}


@pytest.mark.parametrize("name", comrecgc.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(comrecgc, name)
    assert name in dir(comrecgc)
    if name != "__version__":
        assert value.__doc__


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        comrecgc.nothing  # noqa: B018


@pytest.mark.parametrize("code", ["import comrecgc", "import comrecgc.cli"])
def test_the_package_and_its_help_load_nothing_heavy(code: str) -> None:
    listing = f"{code}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_one_call_explains() -> None:
    dataset = small_dataset()
    options: dict[str, Any] = {"recourse": "vectors", "num_recourses": 3, "theta": 0.3, "jobs": 1}
    found = comrecgc.explain(AvoidsLabel(2, 3), dataset, embedder=Histogram(3), **options)
    plain = comrecgc.CommonRecourseExplainer(AvoidsLabel(2, 3), Histogram(3), **options)
    assert found.to_json() == plain.fit(dataset).explanation_.to_json()
    with pytest.raises(InputError, match="got 'thta'"):
        comrecgc.explain(AvoidsLabel(2, 3), dataset, thta=0.1)
