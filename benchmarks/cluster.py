"""The same run on threads, on LocalClusters, with killed workers, and after a killed scheduler: are the bytes the same?

    python benchmarks/cluster.py --workers 2 4 --kills 5 --scheduler

Graphs are planted molecules in small blocks, so that there are many blocks to lose.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dask
from distributed import LocalCluster

from comrecgc.algorithms.registry import Rules
from comrecgc.algorithms.rules import population as census
from comrecgc.algorithms.rules.population import CENSUS
from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import RULES
from comrecgc.models import ClassifierTraining, train_classifier
from comrecgc.run import RunContext
from comrecgc.runs import explain_dataset

FILES = ("explanation.json", "recourses.csv", "coverage_curve.csv", RULES, CENSUS)
_BLOCK = 16
_PORT = 8797


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=480)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4], help="workers of LocalClusters")
    parser.add_argument("--kills", type=int, default=5, help="how often a worker of the first of them is killed")
    parser.add_argument("--scheduler", action="store_true", help="kill a scheduler, too")
    arguments = parser.parse_args()
    census.BLOCK = _BLOCK
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})  # a busy machine starts workers slowly
    data = load_planted(num_graphs=arguments.graphs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "classifier.safetensors"
        train_classifier(data, ClassifierTraining(epochs=60), out=model)
        expected = run(data, model, folder / "threads")
        print(f"threads: {expected[:16]}", flush=True)
        for place, count in enumerate(arguments.workers):
            with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
                killer = Killer(cluster, arguments.kills if place == 0 else 0)
                found = run(data, model, folder / f"{count}", cluster=cluster.scheduler_address, progress=killer)
            print(
                f"{count} workers, {killer.killed} killed: {'the same' if found == expected else 'DIFFERENT'}",
                flush=True,
            )
        if arguments.scheduler:
            found = run_without_scheduler(data, model, folder / "lost")
            print(f"scheduler killed, resumed: {'the same' if found == expected else 'DIFFERENT'}", flush=True)


def run(data: GraphDataset, model: Path, out: Path, **options: Any) -> str:
    """Hash of the files of a run."""
    context = RunContext(jobs=1, **options)
    explainer = CommonRecourseExplainer(model, Rules(sample=80), num_recourses=5, panel=False, context=context)
    explain_dataset(data, out, explainer)
    return hashlib.sha256(b"".join((out / name).read_bytes() for name in FILES)).hexdigest()


class Killer:
    """Kills a worker after every fourth block."""

    def __init__(self, cluster: LocalCluster, kills: int) -> None:
        self.cluster, self.kills, self.killed = cluster, kills, 0

    def __call__(self, stage: str, done: int, total: int, word: str) -> None:  # noqa: ARG002
        if stage == census.STAGE and done % 4 == 1 and self.killed < self.kills:
            workers = list(self.cluster.workers.values())
            pid = workers[self.killed % len(workers)].pid
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.killed += 1


def run_without_scheduler(data: GraphDataset, model: Path, out: Path) -> str:
    """A run whose scheduler is killed after some blocks, and which goes on without it."""
    address = f"tcp://127.0.0.1:{_PORT}"
    command = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "scheduler", "--port", str(_PORT), "--no-dashboard"], **quiet)
    worker = subprocess.Popen(
        [*command, "worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"], **quiet
    )
    try:
        wait_for_workers(address)

        def kill(stage: str, done: int, total: int, word: str) -> None:  # noqa: ARG001
            if stage == census.STAGE and done == 3:
                scheduler.kill()

        try:
            run(data, model, out, cluster=address, progress=kill)
        except InputError as error:
            print(f"  {error}; {len(list(out.glob('census-*.npz')))} blocks are kept", flush=True)
        return run(data, model, out, resume=True)
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait()


def wait_for_workers(address: str) -> None:
    from distributed import Client

    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            with Client(address, timeout=20, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=200)
                return
        except OSError:
            time.sleep(1)


if __name__ == "__main__":
    main()
