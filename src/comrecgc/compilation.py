"""Compiled code made ready by a second process while the first one trains: the first use of the kernels takes about half a minute.

What is compiled is kept beside the kernels, or in `$NUMBA_CACHE_DIR`, so that this happens once per machine and version.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from pathlib import Path

from comrecgc.terminal import Progress

_GRAPHS = 24  # enough for every kind of change to occur


@dataclass(frozen=True, eq=False)
class Compilation:
    """Compiling that goes on in another process; None where nothing is left to compile."""

    process: BaseProcess | None

    @classmethod
    def start(cls) -> Compilation:
        """Begin, unless it was done before or there is no second core to do it on."""
        if _stamp().exists() or _num_cores() < 2 or not os.access(_stamp().parent, os.W_OK):
            return cls(None)
        process = multiprocessing.get_context("spawn").Process(target=_compile_quietly, daemon=True)
        process.start()  # a daemon: a command that is over leaves nothing behind
        return cls(process)

    def wait(self, progress: Progress | None = None) -> None:
        """Come back when all is compiled: to compile the same here would take longer."""
        if self.process is None:
            return
        if self.process.is_alive() and progress is not None:
            progress("compiling, once per machine, about half a minute", 0, 1, "")
        self.process.join()


def compile_kernels() -> None:
    """Mine rules of an untrained classifier on a few molecules, which compiles what mining needs."""
    import numpy as np
    import torch

    from comrecgc.data import load_planted
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.models import ARCHITECTURES, GraphClassifier, Panel, PanelMember, predict
    from comrecgc.run import RunContext

    dataset = load_planted(num_graphs=_GRAPHS)
    torch.manual_seed(0)
    members = []
    for name in ARCHITECTURES:
        model = GraphClassifier(name, dataset.features).eval()
        probability = predict(model, dataset).probability
        with torch.no_grad():  # about half of the molecules are rejects
            model.fc.bias[1] -= float(np.median(np.log(probability / (1 - probability))))
        members.append(PanelMember(name=name, classifier=model))
    explained = next(member.classifier for member in members if member.name == "gcn")
    panel = Panel(tuple(member for member in members if member.name in ("gcn", "gin", "sage")))
    CommonRecourseExplainer(explained, panel=panel, num_recourses=2, context=RunContext(jobs=1, progress=False)).fit(
        dataset
    )


def _stamp() -> Path:
    """A file that says that these kernels were compiled; beside what was compiled, so that both go together."""
    folder = Path(__file__).parent
    digest = hashlib.sha256(f"{platform.python_version()} {version('numba')}".encode())
    for file in sorted(folder.rglob("*_kernels.py")):
        known = file.stat()
        digest.update(f"{file.name} {known.st_mtime_ns} {known.st_size}".encode())
    place = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(place) if place else folder / "__pycache__") / f"compiled-{digest.hexdigest()[:16]}"


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _compile_quietly() -> None:
    """Compile all there is, say nothing, and leave the stamp."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    compile_kernels()
    with suppress(OSError):
        _stamp().touch()
