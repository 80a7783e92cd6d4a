"""Every statement of the theory holds when it is tried."""

from __future__ import annotations

import math
from pathlib import Path

from comrecgc_reproduction import Runner, scale_of
from comrecgc_reproduction.theory import theory_table


def test_what_is_claimed_is_found(tmp_path: Path) -> None:
    table = theory_table(Runner(folder=tmp_path, scale=scale_of("quick")))
    found = {row.name: (row.entries[0].mean, row.entries[1].mean) for row in table.rows}
    for name, (value, claimed) in found.items():
        assert value is not None
        assert claimed is not None
        if "at least" in name:
            assert 1 >= value >= claimed == 1 - 1 / math.e
        else:
            assert value == claimed, name
