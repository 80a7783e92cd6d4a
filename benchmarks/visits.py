"""How many accepted graphs the table of the published walk holds at the end, if a graph that a follower meets first counts once or twice.

    python benchmarks/visits.py

No graphs and no models: heads meet new graphs with a given probability, and graphs are accepted with given probabilities, chosen to give
the authors' record of three heads on Mutagenicity, whose table was not cut (124,797 graphs, 31,019 of them accepted). What a full table
then keeps depends on the counting alone, and can be compared with their records of 4, 5 and 6 heads: 25,287, 24,544 and 24,033.
"""

from __future__ import annotations

import numpy as np

from comrecgc.algorithms.reinforced_walk import FrequencyTable

_STEPS, _TELEPORT, _CAPACITY, _UNCUT = 50_000, 0.05, 100_000, 1_000_000
_NEW, _LEAD_ACCEPTED, _FOLLOWER_ACCEPTED = 0.84, 0.37, 0.2


def main() -> None:
    print(
        f"3 heads, uncut: {accepted_in_table(3, _UNCUT, twice=False)} (graphs, accepted); the record has (124797, 31019)"
    )
    print("heads, once, twice:")
    for heads in (4, 5, 6):
        once, twice = (accepted_in_table(heads, _CAPACITY, twice=counting)[1] for counting in (False, True))
        print(f"{heads}, {once}, {twice}", flush=True)


def accepted_in_table(num_heads: int, capacity: int, *, twice: bool, seed: int = 0) -> tuple[int, int]:
    """Graphs in the table after a walk, and how many of them are accepted."""
    rng, table = np.random.default_rng(seed), FrequencyTable(capacity)
    accepted: list[bool] = []  # of every graph ever met; its place is its key

    def meet(is_accepted: bool) -> int:
        accepted.append(is_accepted)
        return len(accepted) - 1

    def restart() -> list[list[int]]:
        for _ in range(num_heads):
            table.visit(meet(False), accepted=False)
        return [[] for _ in range(num_heads)]

    met = restart()
    for _ in range(_STEPS):
        if rng.random() < _TELEPORT:
            met = restart()
            continue
        lead, news, chances = int(rng.integers(num_heads)), rng.random(num_heads), rng.random(num_heads)
        visits, firsts = [], []
        for head in [lead, *(head for head in range(num_heads) if head != lead)]:
            if met[head] and news[head] > _NEW:
                visits.append(met[head][int(chances[head] * len(met[head]))])
                continue
            share = _LEAD_ACCEPTED if head == lead else _FOLLOWER_ACCEPTED
            visits.append(meet(bool(chances[head] < share)))
            met[head].append(visits[-1])
            firsts += [visits[-1]] if head != lead else []
        for key in [*visits, *(firsts if twice else [])]:
            table.visit(key, accepted=accepted[key])
        for key in visits:
            if key not in table:
                table.visit(key, accepted=accepted[key], beyond=True)
    return len(table), sum(accepted[key] for key in table.keys)


if __name__ == "__main__":
    main()
