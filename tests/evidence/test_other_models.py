from __future__ import annotations

import numpy as np

from comrecgc.evidence import Answer, ModelSummary
from comrecgc.evidence.verdict import answers, by_architecture, compared, guesses, summaries
from comrecgc.graphs import Graph
from comrecgc.models import Panel, PanelMember
from tests.stubs import Always, AvoidsLabel


def node(*labels: int) -> Graph:
    return Graph(np.array(labels), [[0, j] for j in range(1, len(labels))])


def test_only_inputs_that_the_other_model_rejects_too_count() -> None:
    panel = Panel((PanelMember(name="avoids C", classifier=AvoidsLabel(2, 3)),))
    always = Panel((PanelMember(name="yes", classifier=Always(0.9, 3)),))
    results = [
        [
            (node(2, 0), node(0, 0)),
            (node(2, 1), node(2, 0)),
            (node(1, 1), node(0, 1)),
        ],  # turned, not turned, accepted before
        [],
    ]
    first, second = answers(results, [(panel, True), (always, False)])
    assert first == (
        Answer(member="avoids C", chosen_with=True, results=3, accepted=2, rejects=2, turned=1),
        Answer(member="yes", chosen_with=False, results=3, accepted=3, rejects=0, turned=0),
    )
    assert [answer.results for answer in second] == [0, 0]
    assert first[0].works is None  # two inputs are too few


def test_a_recourse_works_where_it_turns_at_least_half() -> None:
    def said(turned: int, rejects: int) -> bool | None:
        return Answer(member="m", chosen_with=False, results=20, accepted=turned, rejects=rejects, turned=turned).works

    assert [said(4, 4), said(2, 5), said(5, 10), said(10, 10)] == [None, False, True, True]


def test_a_model_that_accepts_after_any_change_is_no_witness() -> None:
    def said(turned: int, random: tuple[int, int]) -> bool | None:
        return Answer(
            member="m", chosen_with=False, results=40, accepted=turned, rejects=40, turned=turned,
            random_rejects=random[0], random_turned=random[1],
        ).works  # fmt: skip

    assert said(36, (40, 4)) is True
    assert said(36, (40, 36)) is False  # random changes do as well
    assert said(36, (4, 4)) is True  # too few to compare with


def test_models_of_one_architecture_are_averaged() -> None:
    def answer(architecture: str, turned: int) -> Answer:
        return Answer(
            member="m",
            chosen_with=False,
            results=9,
            accepted=turned,
            rejects=8,
            turned=turned,
            architecture=architecture,
        )

    said = [answer("gcn", 8), answer("gcn", 4), answer("gin", 2), answer("", 8)]
    assert by_architecture(said) == {"gcn": 0.75, "gin": 0.25}


def test_random_changes_are_those_of_the_recourse_or_of_all() -> None:
    def answer(rejects: int, turned: int) -> Answer:
        return Answer(member="m", chosen_with=False, results=50, accepted=turned, rejects=rejects, turned=turned)

    said = [(answer(30, 20),), (answer(30, 10),)]
    first, second = compared(said, [(answer(40, 8),), (answer(3, 3),)])
    assert (first[0].random_rejects, first[0].random_turned) == (40, 8)
    assert (second[0].random_rejects, second[0].random_turned) == (43, 11)
    assert (first[0].rejects, first[0].turned) == (30, 20)


def test_a_panel_that_only_guesses_is_no_witness() -> None:
    def panel(*accuracies: float | None) -> Panel:
        model = AvoidsLabel(2, 3)
        return Panel(tuple(PanelMember(name="m", classifier=model, accuracy=known) for known in accuracies))

    classes = np.array([0] * 60 + [1] * 40, np.int8)  # ten graphs are tested, six of ten are of one class
    assert guesses(panel(0.6, 0.6), classes)
    assert guesses(panel(0.7, 0.8), classes)  # 15 of 20 may be chance
    assert not guesses(panel(0.9, 0.9), classes)
    assert not guesses(panel(None, None), classes)  # a panel of one's own that nobody measured
    results = [[(node(2, 0), node(0, 0))] * 9]
    knowing, guessing = answers(results, [(panel(0.9, 0.9), False), (panel(0.6, 0.6), False)], classes)[0][1:3]
    assert (knowing.works, guessing.works) == (True, None)
    assert guessing.share_turned == 1.0


def test_models_are_summed_up_over_recourses() -> None:
    def answer(member: str, turned: int) -> Answer:
        return Answer(
            member=member, chosen_with=False, results=9, accepted=turned, rejects=8, turned=turned, architecture="gcn"
        )

    said = [(answer("one", 8), answer("two", 0)), (answer("one", 6), answer("two", 7))]
    first, second = summaries(said)
    assert first == ModelSummary(name="one", chosen_with=False, models=1, works=2, asked=2, rejects=16, turned=14)
    assert (second.works, second.turned) == (1, 7)
    (whole,) = summaries(said, architectures=True)
    assert whole == ModelSummary(name="gcn", chosen_with=False, models=2, works=3, asked=4, rejects=32, turned=21)
