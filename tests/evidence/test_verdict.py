from __future__ import annotations

from dataclasses import replace

import pytest

from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.evidence import Answer
from comrecgc.evidence.controls import RandomRules
from comrecgc.evidence.verdict import UnseenSuccess, judge


def answer(turned: int, rejects: int = 10, *, chosen_with: bool = False) -> Answer:
    return Answer(member="gcn", chosen_with=chosen_with, results=20, accepted=turned, rejects=rejects, turned=turned)


def like(success: float) -> RandomRules:
    return RandomRules(rules=4, applicable=100, accepted=round(100 * success), mean_cost=2.0)


WORKS, FAILS, UNSURE = answer(9), answer(1), answer(4, rejects=4)
AGREE, CONTRADICT, FEW = (
    MatchedPairs(as_said=14, against=1),
    MatchedPairs(as_said=1, against=14),
    MatchedPairs(as_said=3),
)


@pytest.mark.parametrize(
    ("answers", "pairs", "level"),
    [
        ([WORKS] * 4, AGREE, "strong"),
        ([WORKS] * 4, MatchedPairs(), "mixed"),
        ([WORKS] * 3 + [FAILS], FEW, "mixed"),
        ([WORKS] * 4, MatchedPairs(as_said=5, against=4), "mixed"),
        ([WORKS] * 2 + [FAILS] * 2, MatchedPairs(), "mixed"),
        ([WORKS] * 2 + [FAILS] * 2, AGREE, "strong"),
        ([WORKS] + [FAILS] * 3, AGREE, "weak"),
        ([FAILS] * 4, MatchedPairs(), "weak"),
        ([WORKS] * 4, CONTRADICT, "weak"),
        ([], AGREE, "strong"),
        ([], MatchedPairs(as_said=5, against=4), "weak"),
        ([UNSURE] * 4, FEW, "weak"),
        ([], MatchedPairs(), "weak"),
    ],
)
def test_levels(answers: list[Answer], pairs: MatchedPairs, level: str) -> None:
    assert judge(answers=answers, pairs=pairs).level == level


def test_other_models_alone_never_make_it_strong() -> None:
    caveat = "a shortcut that every model learns would look the same"
    for pairs in (MatchedPairs(), FEW, MatchedPairs(as_said=5, against=4)):
        assert judge(answers=[WORKS] * 8, pairs=pairs).sentence.endswith(caveat)
    said = judge(answers=[WORKS] * 8, pairs=MatchedPairs()).sentence
    assert f"no pair of graphs in the data tests it; {caveat}" in said
    for answers, pairs in (([WORKS] * 8, AGREE), ([FAILS] * 8, MatchedPairs())):
        assert caveat not in judge(answers=answers, pairs=pairs).sentence


def test_models_that_took_part_in_the_choice_do_not_count() -> None:
    chosen = [answer(9, chosen_with=True)] * 4
    assert judge(answers=[*chosen, *[FAILS] * 4], pairs=MatchedPairs()).level == "weak"
    assert "0 of 4" in judge(answers=[*chosen, *[FAILS] * 4], pairs=MatchedPairs()).sentence


def test_what_fails_on_unseen_graphs_is_weak() -> None:
    good = {"answers": [WORKS] * 4, "pairs": AGREE}
    seen = UnseenSuccess("random", 0.8, 0.8)
    assert judge(**good, unseen=[seen, UnseenSuccess("scaffold", 0.65, 0.8)]).level == "strong"  # type: ignore[arg-type]
    verdict = judge(**good, unseen=[seen, UnseenSuccess("scaffold", 0.5, 0.8)])  # type: ignore[arg-type]
    assert verdict.level == "weak"
    assert "50% of graphs of unseen scaffolds" in verdict.sentence
    assert judge(**good, unseen=[UnseenSuccess("random", None, None)]).level == "strong"  # type: ignore[arg-type]


def test_inputs_must_be_rejects_in_truth() -> None:
    good = {"answers": [WORKS] * 4, "pairs": AGREE, "share_reject": 0.56}
    assert judge(**good, labelled=(85, 100)).level == "strong"  # type: ignore[arg-type]
    assert judge(**good, labelled=(60, 100)).level == "mixed"  # type: ignore[arg-type]
    assert judge(**good | {"pairs": MatchedPairs()}, labelled=(85, 100)).level == "mixed"  # type: ignore[arg-type]
    assert judge(**good | {"pairs": MatchedPairs()}, labelled=(68, 100)).level == "weak"  # type: ignore[arg-type]
    assert judge(**good, labelled=(56, 100)).level == "weak"  # type: ignore[arg-type]
    assert judge(**good, labelled=(0, 0)).level == "strong"  # type: ignore[arg-type]
    said = judge(**good, labelled=(56, 100)).sentence  # type: ignore[arg-type]
    assert "56% of its inputs are labelled reject" in said


def test_what_random_rules_do_as_well_is_mixed_at_best() -> None:
    good = {"answers": [WORKS] * 4, "pairs": AGREE, "success": 0.6, "interval": (0.5, 0.7)}
    assert judge(**good, random=like(0.2)).level == "strong"  # type: ignore[arg-type]
    assert judge(**good, random=like(0.55)).level == "mixed"  # type: ignore[arg-type]


@pytest.mark.parametrize(("success", "shortcut"), [(0.9, True), (0.5, True), (0.3, False), (None, False)])
def test_a_shortcut_is_obeyed_by_one_model_only(success: float | None, shortcut: bool) -> None:
    verdict = judge(answers=[FAILS] * 4, pairs=MatchedPairs(), success=success)
    assert verdict.shortcut is shortcut
    assert ("shortcut" in verdict.sentence) is shortcut
    assert not judge(answers=[WORKS] * 4, pairs=MatchedPairs(), success=success).shortcut


def test_the_sentence_gives_the_reasons() -> None:
    verdict = judge(
        answers=[WORKS] * 4 + [FAILS],
        pairs=MatchedPairs(as_said=12, against=2),
        success=0.8,
        interval=(0.75, 0.85),
        unseen=[UnseenSuccess("random", 0.79, 0.8)],
        random=like(0.1),
    )
    assert verdict.sentence == (
        "strong: works in 4 of 5 other models; 12 of 14 matched pairs agree; holds on unseen graphs; "
        "random rules like it work for 10%"
    )


@pytest.mark.parametrize(
    ("similar", "level", "said"),
    [
        ([MatchedPairs(as_said=3, against=12), MatchedPairs(as_said=3, against=1)], "weak", "3 of 15 pairs of graphs"),
        ([MatchedPairs(as_said=24, against=7), MatchedPairs(as_said=4, against=2)], "mixed", "28 of 37 pairs of graphs"),
        ([MatchedPairs(as_said=2, against=1)], "mixed", "2 of 3 pairs"),
        ([MatchedPairs(stays_reject=62)], "mixed", "none of 62 pairs of graphs"),
    ],
)  # fmt: skip
def test_pairs_of_one_change_alone_can_sink_a_rule_and_never_make_it_strong(
    similar: list[MatchedPairs], level: str, said: str
) -> None:
    verdict = judge(answers=[WORKS] * 8, pairs=MatchedPairs(), similar=similar)
    assert verdict.level == level
    assert said in verdict.sentence
    assert judge(answers=[WORKS] * 8, pairs=AGREE, similar=similar).level == "strong"  # the whole rule was tested


def test_other_models_that_only_guess_say_nothing() -> None:
    blind = replace(WORKS, guesses=True)
    verdict = judge(answers=[blind] * 8, pairs=MatchedPairs())
    assert verdict.level == "weak"
    assert "other models of these labels only" in verdict.sentence
