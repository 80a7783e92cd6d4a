"""Algorithms as configurations: their fields are checked, documented and stored from one place (`base.py`, `registry.py`).

Also tests comrecgc.algorithms.registry.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any, ClassVar

import pytest

from comrecgc.algorithms.base import (
    Algorithm,
    Task,
    VectorAlgorithm,
    VectorChoice,
    VectorTask,
    accepted,
    inside,
    option,
    options_of,
)
from comrecgc.algorithms.registry import (
    ALGORITHMS,
    DatasetCounterfactuals,
    GCFExplainer,
    PaperWalk,
    Rules,
    Vectors,
    algorithm_of,
    owners_of,
)
from comrecgc.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Toy(Algorithm):
    """An algorithm with a field of every kind."""

    name: ClassVar[str] = "toy"
    recourse: ClassVar[str] = "rules"

    changes: str = "any"
    count: int = option(3, "How many.", least=1, most=5)
    share: float | None = option(None, "How much.", above=0, below=1)
    kind: str = option("a", "Which.", choices=("a", "b"))
    quick: bool = option(True, "Whether quick.")
    names: tuple[str, ...] = option((), "What they are called.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be an integer at"),
        ({"count": 6}, "count must be an integer"),
        ({"count": 2.0}, "count must be an integer"),
        ({"count": True}, "count must be an integer"),
        ({"share": 0}, "share must be a number above"),
        ({"share": 1}, "share must be a number"),
        ({"share": float("nan")}, "share must be a number"),
        ({"share": "half"}, "share must be a number"),
        ({"kind": "c"}, "kind must be one of a, b"),
        ({"quick": 1}, "quick must be True or False"),
        ({"changes": "sane"}, "changes must be one of any, connected"),
    ],
)
def test_fields_are_checked_by_what_is_written_of_them(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Toy(**options)
    assert "\n" not in str(caught.value)


def test_a_field_is_documented_stored_and_frozen() -> None:
    toy = Toy(names="x", share=0.5, count=5)  # type: ignore[arg-type]
    assert toy.names == ("x",)
    assert toy.parameters() == {"count": 5, "share": 0.5, "kind": "a", "quick": True, "names": ["x"]}
    assert "count: How many." in (Toy.__doc__ or "")
    assert "Which changes are allowed" in (Toy.__doc__ or "")  # with another default, the help stays
    assert Toy().changes == "any"
    with pytest.raises(FrozenInstanceError):
        toy.count = 1  # type: ignore[misc]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_made_from_its_name_and_says_what_its_fields_mean(name: str) -> None:
    made = algorithm_of(name)
    assert made.name == name
    assert made.recourse in ("rules", "vectors")
    assert algorithm_of(name, {"changes": made.changes}) == made
    assert all(each.metadata["help"].endswith(".") for each in options_of(type(made)).values())


def test_unknown_names_and_options_are_named_with_whose_they_are() -> None:
    with pytest.raises(InputError, match=r"Algorithms are .*got 'datasets'"):
        algorithm_of("datasets")
    with pytest.raises(InputError, match=r"Options of rules are .*\(got 'num_heads', an option of paper, published\)"):
        algorithm_of("rules", {"num_heads": 3})
    assert owners_of("nothing") == []


def test_what_a_choice_leaves_open_is_what_is_usual_of_the_algorithm() -> None:
    few = VectorChoice(problem="fc", num_counterfactuals=3)
    assert Vectors(choice=few).choice == VectorChoice(
        delta="auto", problem="fc", num_counterfactuals=3, selection="ball", min_samples=2
    )
    assert DatasetCounterfactuals(choice=few).choice.min_samples == 1
    paper = PaperWalk(choice=VectorChoice(delta=0.05))
    assert (paper.choice.delta, paper.choice.selection) == (0.05, "dbscan")
    assert replace(paper, num_heads=2).choice == paper.choice
    with pytest.raises(InputError, match="choice must be a VectorChoice"):
        Vectors(choice="ball")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="T of problem='fc'"):
        VectorChoice(num_counterfactuals=3)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_options_are_flat_by_name_and_stored_as_they_were_given(name: str) -> None:
    made = ALGORITHMS[name]
    usual = {each: known.default for each, known in options_of(made).items()}
    assert dict(made().values()) == usual
    assert made.from_options(usual) == made()
    assert not any(isinstance(value, dict) for value in made().parameters().values())
    if made.recourse == "vectors":
        changed = made.from_options({"delta": 0.07, "problem": "fc"})
        assert (changed.parameters()["delta"], changed.parameters()["problem"]) == (0.07, "fc")
        assert changed.parameters() == made().parameters() | {"delta": 0.07, "problem": "fc"}


def test_a_task_fills_in_what_is_usual_and_checks_the_rest() -> None:
    assert (Task(algorithm=Rules()).num_recourses, Task(algorithm=Vectors()).num_recourses) == (10, 100)
    for options, message in (
        ({"theta": 0}, "theta must be a positive number"),
        ({"num_recourses": 0}, "num_recourses must be an integer of at least 1"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
        ({"algorithm": "rules"}, r"algorithm must be one of comrecgc's"),
    ):
        with pytest.raises(InputError, match=message):
            Task(**{"algorithm": Rules(), **options})  # type: ignore[arg-type, type-var]


@pytest.mark.parametrize(
    "algorithm", [Vectors(), PaperWalk(), GCFExplainer(), Vectors(choice=VectorChoice(delta=0.3, directional=True))]
)
def test_a_delta_that_is_left_open_is_measured(algorithm: VectorAlgorithm) -> None:
    task = Task(algorithm=algorithm, theta=0.2)
    measured, unknown = VectorTask.of(task, 0.08), VectorTask.of(task)
    given, is_open = algorithm.choice.delta, algorithm.choice.delta == "auto"
    assert (measured.delta, unknown.delta) == ((0.04, 0.04) if is_open else (given, given))
    assert measured.directional is (is_open or bool(algorithm.choice.directional))
    assert measured.parameters()["delta"] == measured.delta
    assert replace(measured, theta=0.3).delta == measured.delta


def test_margins_stay_inside_the_limits() -> None:
    assert inside(0.1, 1e-5) == pytest.approx(0.1 - 1e-5)
    assert 0 < inside(1e-5, 2e-5) < 1e-5  # of a small limit the margin is a share
    assert accepted(1e-5) > 0.5


@pytest.mark.parametrize("value", [5, [5], {"N": 1}])
def test_texts_must_be_texts(value: Any) -> None:
    with pytest.raises(InputError, match="protect must be a list of texts"):
        Rules(protect=value)
