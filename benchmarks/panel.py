"""Seconds and accuracies of a panel: python benchmarks/panel.py --dataset mutagenicity --folder DIR

The second line is the same panel read from the folder.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from comrecgc.data import load_dataset
from comrecgc.models import PanelTraining, obtain_panel
from comrecgc.run import LocalEngine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="mutagenicity", help="name or path")
    parser.add_argument("--number", type=int, default=0, help="which panel; others share no seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where trained members are kept")
    options = parser.parse_args()
    dataset = load_dataset(options.dataset)
    for _ in range(2):
        started = time.monotonic()
        panel, sentence = obtain_panel(
            dataset,
            training=PanelTraining(number=options.number),
            folder=options.folder,
            engine=LocalEngine(jobs=options.jobs),
        )
        members = [] if panel is None else [f"{member.name} {member.accuracy:.1%}" for member in panel.members]
        print(f"{dataset.name}: {time.monotonic() - started:.1f} s; {', '.join(members)}\n  {sentence}", flush=True)


if __name__ == "__main__":
    main()
