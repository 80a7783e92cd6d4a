"""The page's script prefers rules in the same order as Python; run by node, so that no browser is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import comrecgc.report
from comrecgc.algorithms.rules.choice import _preference
from tests.algorithms.rules.test_choice import table_of

SCRIPT = Path(comrecgc.report.__file__).parent / "live" / "choice.js"
RUN = """
const { columns, success } = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(byPreference(columns, success.map((_, rule) => rule), success)));
"""


@pytest.mark.parametrize("seed", range(5))
def test_wider_and_narrower_rules_come_in_the_order_of_python(seed: int) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the page's script needs node here")
    rng, num = np.random.default_rng(seed), 60
    kinds = np.array([[0, -1, -1], [0, 4, -1]], np.int8)[rng.integers(0, 2, num)]
    turns = rng.random((num, 4)) < 0.5
    turns[:, 0] = True
    table = table_of(
        turns, np.ones_like(turns), kinds=kinds, cost=rng.integers(1, 3, num).astype(np.int32),
        radius=rng.integers(0, 3, num).astype(np.int8), strays=rng.integers(0, 2, num).astype(np.int8),
    )  # fmt: skip
    wanted = np.lexsort(_preference(table, np.arange(num), table.success)[::-1])
    columns = {
        "numChanges": table.rules.num_changes.tolist(), "strays": table.rules.strays.tolist(),
        "cost": table.rules.cost.tolist(), "radius": table.rules.radius.tolist(),
    }  # fmt: skip
    text = json.dumps({"columns": columns, "success": table.success.tolist()})
    found = subprocess.run(
        [node, "-e", SCRIPT.read_text(encoding="utf-8") + RUN], input=text, capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == wanted.tolist()
