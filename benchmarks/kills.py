"""Kills runs at many moments, resumes them, and compares what they end with to an uninterrupted run, byte by byte.

    python benchmarks/kills.py                                  # 30 kills of each command, about twenty minutes on one core
    python benchmarks/kills.py --kills 4 --only explain

Half of the kills come by the clock, spread evenly over the run; the other half in the middle of writing a file: with half
of its bytes written, before it is synced, before it is renamed, before its folder is synced. SIGKILL goes to the whole process
group, and where there are worker processes every third time to the parent alone. Every trial is killed twice.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Self

import numpy as np

import comrecgc.data
import comrecgc.runs  # what commands import when they are called, imported before the clock starts
from comrecgc.algorithms import checkpoint
from comrecgc.cli import main as command_line
from comrecgc.data import GraphDataset, load_planted
from comrecgc.models import ClassifierTraining, EmbedderTraining, train_classifier, train_embedder
from comrecgc.run import files

KILLS_A_TRIAL = 2
NOT_COMPARED = {"manifest.json", "report.html"}  # they tell seconds and memory
FACTS_NOT_COMPARED = {"seconds"}


@dataclass(frozen=True)
class Case:
    """A command that is killed; `{out}` in its arguments is where its output goes, `{models}` where its models are."""

    name: str
    arguments: str
    workers: bool = False


CASES = (
    Case(
        "explain",
        "explain --dataset planted --classifier {models}/classifier.safetensors "
        "--no-panel --max-changes 2 --theta 0.1 --recourses 8 --out {out}/run",
    ),
    Case(
        "explain --algorithm vectors",
        "explain --dataset planted --classifier {models}/classifier.safetensors --embedder {models}/greed.safetensors "
        "--algorithm vectors --changes any --theta 0.15 --recourses 8 --out {out}/run",
    ),
    Case(
        "explain --algorithm paper",
        "explain --dataset planted --classifier {models}/classifier.safetensors --embedder {models}/greed.safetensors "
        "--algorithm paper --theta 0.15 --steps {steps} --recourses 8 --out {out}/run",
        workers=True,
    ),
)


@dataclass
class Tally:
    """What happened to one command."""

    seconds: float
    writes: int
    by_clock: int = 0
    in_a_write: int = 0
    parent_only: int = 0
    too_late: int = 0
    trials: int = 0
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    arguments = parse_arguments()
    quicken(load_planted()[: arguments.graphs])
    rng = np.random.default_rng(arguments.seed)
    print(f"{arguments.kills} kills of each command, {arguments.graphs} planted molecules, seed {arguments.seed}")
    print(
        f"{'command':24} {'whole run':>9} {'writes':>6} | {'by clock':>8} {'in write':>8} {'parent only':>11} | same result"
    )
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        models = train_models(Path(folder), load_planted()[: arguments.graphs])
        for case in CASES:
            if arguments.only in (None, case.name):
                tally = kill_often(case, Path(folder), models, arguments, rng)
                print_tally(case, tally)
                failed |= bool(tally.wrong)
    sys.exit(1 if failed else 0)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill, resume, compare")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--graphs", type=int, default=120, help="molecules of the planted dataset")
    parser.add_argument("--steps", type=int, default=1500, help="of the paper's walk")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def quicken(dataset: GraphDataset) -> None:
    """Small data, and checkpoints so often that every kill finds one of a different age."""
    comrecgc.data.load_dataset = lambda *_, **__: dataset
    checkpoint.SECONDS = 0.1


def train_models(folder: Path, dataset: GraphDataset) -> Path:
    """The folder of a classifier and an embedder; trained in a process of their own, so that this one never starts a thread."""

    def train() -> None:
        train_classifier(dataset, ClassifierTraining(epochs=60), out=folder / "classifier.safetensors")
        training = EmbedderTraining(effort=0.005)
        train_embedder(dataset.graphs, dataset.num_labels, training, out=folder / "greed.safetensors")

    assert wait(start(train, folder / "models.log")) == 0, (folder / "models.log").read_text()
    return folder


def kill_often(case: Case, folder: Path, models: Path, options: argparse.Namespace, rng: np.random.Generator) -> Tally:
    """Kill a command so many times; every trial starts anew, is killed, resumed, killed and resumed to its end."""
    place = folder / case.name.replace(" ", "-")
    words = {"models": models, "steps": options.steps}

    def begin(out: Path, *more: str, die_at: int | None = None, count: Path | None = None) -> int:
        line = [*case.arguments.format(out=out, **words).split(), *more]
        return start(lambda: run_command(line, die_at, count), out.with_suffix(".log"))

    whole = place / "whole"
    whole.mkdir(parents=True)
    started = time.monotonic()
    assert wait(begin(whole, "--resume", count=place / "writes")) == 0, whole.with_suffix(".log").read_text()
    tally = Tally(time.monotonic() - started, int((place / "writes").read_text()))
    expected = contents(whole)
    moments = itertools.chain.from_iterable(spread(options.kills, rng) for _ in itertools.count())
    for trial in range(2 * options.kills):
        if tally.by_clock + tally.in_a_write >= options.kills:
            break
        out = place / str(trial)
        out.mkdir()
        for kill in range(KILLS_A_TRIAL):
            share = next(moments)
            if (trial + kill) % 2:
                process = begin(out, "--resume", die_at=1 + int(share * tally.writes))
                died = wait(process) == -signal.SIGKILL
                tally.in_a_write += died
            else:
                alone = case.workers and trial % 3 == 2
                died = kill_after(begin(out, "--resume"), share * tally.seconds, alone=alone)
                tally.by_clock += died
                tally.parent_only += died and alone
            tally.too_late += not died
        code = wait(begin(out, "--resume"))
        tally.trials += 1
        if code != 0 or contents(out) != expected:
            log = out.with_suffix(".log").read_text().strip().splitlines()
            tally.wrong.append(f"trial {trial}, exit code {code}: {difference(expected, contents(out)) or log[-1:]}")
    return tally


def spread(count: int, rng: np.random.Generator) -> list[float]:
    """Moments between 0 and 1: one in each of so many equal parts, in random order."""
    moments: list[float] = rng.permutation((np.arange(count) + rng.random(count)) / count).tolist()
    return moments


def start(work: Callable[[], None], log: Path) -> int:
    """Do the work in a process group of its own; everything is imported already, so time goes to the work."""
    process = os.fork()
    if process:
        with suppress(ProcessLookupError, PermissionError):  # the child does the same, whoever comes first
            os.setpgid(process, process)
        return process
    os.setpgid(0, 0)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    code = 1
    try:
        work()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except Exception:  # noqa: BLE001  whatever it is, the exit code tells
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(process: int) -> int:
    """Exit code of a process, or minus the signal that ended it."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == 0:
        with suppress(ProcessLookupError):  # a forked process does not tell its idle workers to end
            os.killpg(process, signal.SIGKILL)
    return code


def kill_after(process: int, seconds: float, *, alone: bool) -> bool:
    """Whether the process was still running when its time came; its workers are killed with it unless it dies alone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(process, os.WNOHANG)[0]:
            return False
        time.sleep(0.005)
    (os.kill if alone else os.killpg)(process, signal.SIGKILL)
    return wait(process) == -signal.SIGKILL


def run_command(line: list[str], die_at: int | None, count: Path | None) -> None:
    """`comrecgc …`; every step of writing a file is counted, and one of them may be the last thing that happens."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return steps == die_at

    def before(operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            if step():
                os.killpg(0, signal.SIGKILL)
            return operation(*arguments)

        return counted

    def created(path: Path) -> BinaryIO:
        file = path.open("xb")

        def write(data: bytes) -> int:
            if step():
                os.write(file.fileno(), memoryview(data)[: len(data) // 2])
                os.killpg(0, signal.SIGKILL)
            return file.write(data)

        return Torn(file, write)  # type: ignore[return-value]

    operations = {name: before(getattr(os, name)) for name in ("fsync", "replace")}
    for name, value in (("_created", created), ("os", SimpleNamespace(**{**vars(os), **operations}))):
        setattr(files, name, value)
    sys.argv = ["comrecgc", *line]
    try:
        command_line()
    finally:
        if count is not None:
            count.write_text(str(steps))


class Torn:
    """A file that may be torn while it is written."""

    def __init__(self, file: BinaryIO, write: Callable[[bytes], int]) -> None:
        self.file, self.write = file, write

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def contents(folder: Path) -> dict[str, bytes]:
    """What a run left, by name; what tells seconds is only named."""
    return dict(sorted(_contents(folder)))


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name in NOT_COMPARED:
            yield name, b""
        elif path.suffix == ".json" and path.name != "explanation.json":
            facts = json.loads(path.read_text())
            yield name, json.dumps({k: v for k, v in facts.items() if k not in FACTS_NOT_COMPARED}).encode()
        else:
            yield name, path.read_bytes()


def difference(expected: dict[str, bytes], got: dict[str, bytes]) -> list[str]:
    return [name for name in sorted({*expected, *got}) if expected.get(name) != got.get(name)]


def print_tally(case: Case, tally: Tally) -> None:
    same = f"{tally.trials - len(tally.wrong)} of {tally.trials}"
    late = f" ({tally.too_late} kills came when it was done)" if tally.too_late else ""
    print(
        f"{case.name:24} {tally.seconds:7.1f} s {tally.writes:6} | {tally.by_clock:8} {tally.in_a_write:8} "
        f"{tally.parent_only:11} | {same}{late}",
        flush=True,
    )
    for line in tally.wrong:
        print(f"  {line}")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
