"""The README's example, run as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, global_add_pool

from comrecgc.datasets import load_planted


class CountsNitrogen(torch.nn.Module):
    """Stands for a user's model: two convolutions, then a verdict that falls with the number of nitrogens."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(7, 7)
        with torch.no_grad():
            self.conv.lin.weight.copy_(torch.eye(7))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        spread = self.conv(x, edge_index)
        nitrogens = global_add_pool(x[:, 2] + 0.1 * spread[:, 2], batch)
        return torch.stack([nitrogens - 0.9, 0.9 - nitrogens], dim=1)


def test_the_example_runs_as_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len(example.splitlines()) <= 15
    monkeypatch.chdir(tmp_path)
    exec(example, {"graphs": load_planted(num_graphs=40).to_pyg(), "model": CountsNitrogen()})  # noqa: S102
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+ recourses cover \d+% of \d+ rejects", lines[0])
    assert all(re.fullmatch(r"\d+ graphs: .+", line) for line in lines[1:-1])
    assert re.fullmatch(r"\d+% of \d+ unseen rejects", lines[-1])
    assert (tmp_path / "run" / "report.html").exists()
