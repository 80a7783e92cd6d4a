"""Claims near a limit are counted, and the double precision they are checked in is that of the same network."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from comrecgc.algorithms.base import VectorChoice
from comrecgc.algorithms.inputs import ModelPair
from comrecgc.algorithms.registry import Vectors
from comrecgc.data import load_planted
from comrecgc.evidence.evaluation import BORDERLINE, recheck
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.graphs import GraphBatch
from comrecgc.run import RunContext
from tests.scoring.plain import random_greed
from tests.stubs import AvoidsLabel, Histogram, small_dataset

MODELS = ModelPair(AvoidsLabel(2, 3), Histogram(3))


@pytest.fixture(scope="module")
def found() -> Explanation:
    explainer = CommonRecourseExplainer(
        MODELS.classifier,
        Vectors(embedder=MODELS.embedder, changes="any", choice=VectorChoice(delta=0.05)),
        theta=0.3,
        num_recourses=3,
        context=RunContext(jobs=1),
    )
    return explainer.fit(small_dataset()).explanation_


def counted(explanation: Explanation) -> float | None:
    (figure,) = [figure for figure in recheck(explanation, MODELS) if figure.name == BORDERLINE]
    assert figure.stored is None
    assert figure.agrees
    return figure.recomputed


def near(explanation: Explanation, theta: float, delta: float) -> int:
    """The same count, one entry at a time."""
    count = 0
    for recourse in explanation.recourses:
        for member in recourse.covered:
            vector = Histogram(3).vector(explanation.inputs[member.input].graph, member.counterfactual)
            gap = float(np.linalg.norm(vector - np.array(recourse.vector)))
            length = float(np.linalg.norm(vector))
            count += abs(length - theta) <= 1e-5 or abs(gap - delta) <= 1e-5
    return count


@pytest.mark.parametrize("away", [0.0, 9e-6, -9e-6, 2e-5, -2e-5, 0.1])
def test_counterfactuals_near_theta_are_counted(found: Explanation, away: float) -> None:
    theta = found.recourses[0].covered[0].distance + away
    expected = near(found, theta, 0.05)
    assert expected >= (abs(away) < 1e-5)
    assert counted(replace(found, parameters={**found.parameters, "theta": theta})) == expected


def test_counterfactuals_near_delta_are_counted(found: Explanation) -> None:
    member, recourse = found.recourses[0].covered[0], found.recourses[0]
    vector = Histogram(3).vector(found.inputs[member.input].graph, member.counterfactual)
    delta = float(np.linalg.norm(vector - np.array(recourse.vector))) + 5e-6
    expected = near(found, 0.3, delta)
    assert expected >= 1
    assert counted(replace(found, parameters={**found.parameters, "delta": delta})) == expected


@pytest.fixture(scope="module")
def numerics() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "numerics.py"
    if not path.is_file():
        pytest.skip("benchmarks/ is not beside tests/")
    spec = importlib.util.spec_from_file_location("comrecgc_benchmarks_numerics", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its records look for their annotations
    spec.loader.exec_module(module)
    return module


def test_the_double_network_is_the_single_one_without_its_rounding(numerics: ModuleType) -> None:
    dataset = load_planted()[:20]
    model = random_greed(dataset.num_labels)
    batch = GraphBatch.from_graphs(dataset)
    single, double = model.embed(batch), numerics.embedding(model, batch)
    assert double.dtype == np.float64
    assert 0 < np.abs(single - double).max() < 1e-4 * np.abs(double).max()
