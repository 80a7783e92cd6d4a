"""Feed a reader hostile files for a while and say what came of it.

    python fuzz/run.py tu --seconds 1800

Targets are the files of this folder: tu, smiles, checkpoints, explanation, rules, apply, storage. With atheris installed
(`pip install --group fuzz`) inputs are guided by coverage, without it they are drawn at random. Inputs that break the
contract are kept under --out, one folder each distinct failure; a folder goes to `tests/fuzz/cases/TARGET/` once it is mended.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import cast

if not __package__:  # run as a file, not imported
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from fuzz.choices import Choices
from fuzz.contract import Failure, Target, emptied, outcome_of

TARGETS = ("tu", "smiles", "checkpoints", "explanation", "rules", "apply", "storage")
_MAX_BYTES = 512


class Run:
    """One target under fuzz: inputs tried and failures found so far.

    Args:
        target: The reader.
        work: An empty folder; inputs are written below it.
        out: Where inputs that break the contract are kept.
        seconds: How long to go on.
    """

    def __init__(self, target: Target, work: Path, out: Path, seconds: float) -> None:
        self.target = target
        self.input = work / "sandbox" / "input"
        self.out = out
        self.seconds = seconds
        self.started = time.monotonic()
        self.tried = self.accepted = 0
        self.failures: dict[str, Failure] = {}
        os.chdir(emptied(work / "sandbox" / "here"))

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def one(self, data: bytes) -> None:
        """Try one input."""
        try:
            self.target.write(Choices(data), emptied(self.input))
        except Exception:  # noqa: BLE001 - a mistake of the fuzzer, which libFuzzer would take for a finding
            print(traceback.format_exc(), flush=True)
            os._exit(3)
        outcome = outcome_of(self.target, self.input)
        failure = outcome.failure
        self.tried += 1
        self.accepted += outcome.accepted
        if failure is not None and failure.kind not in self.failures:
            self.failures[failure.kind] = failure
            kept = self.out / re.sub(r"\W+", "-", failure.kind)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.input, kept, symlinks=True)
            print(f"FAILURE {failure.kind}, input kept in {kept}\n{failure.details}", flush=True)

    def figures(self) -> str:
        return (
            f"{self.tried} inputs ({self.accepted / self.tried:.0%} accepted) in {self.elapsed:.0f} s, {time.process_time() / 60:.1f} CPU minutes, "
            f"{self.tried / self.elapsed:.1f} inputs/s, {len(self.failures)} distinct failures"
        )


def fuzz_at_random(run: Run, seed: int) -> None:
    """Inputs from random bytes until time is up."""
    rng = random.Random(seed)
    while run.elapsed < run.seconds:
        run.one(rng.randbytes(_MAX_BYTES))


def fuzz_by_coverage(run: Run, seed: int, work: Path) -> None:
    """Inputs guided by coverage until time is up; does not return."""
    import atheris

    log = work / "libfuzzer.log"
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)

    def one(data: bytes) -> None:
        run.one(data)
        if run.elapsed >= run.seconds:
            found = re.findall(r"cov: (\d+)", log.read_text(errors="replace"))
            finish(run, f"coverage-guided, {found[-1]} edges reached" if found else "coverage-guided")

    corpus = emptied(work / "corpus")
    rng = random.Random(seed)
    for place in range(64):
        (corpus / str(place)).write_bytes(rng.randbytes(_MAX_BYTES))
    limits = [f"-max_len={_MAX_BYTES}", "-len_control=0", "-timeout=1000000", "-rss_limit_mb=0", "-malloc_limit_mb=0"]
    atheris.Setup([sys.argv[0], *limits, f"-seed={seed + 1}", str(corpus)], one)
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Modules with numba functions, which cannot be watched."""
    (root,) = importlib.import_module("comrecgc").__path__
    files = [file for file in Path(root).rglob("*.py") if "numba" in file.read_text()]
    return [".".join(("comrecgc", *file.relative_to(root).with_suffix("").parts)) for file in files]


def finish(run: Run, how: str) -> None:
    """Print the figures and end the process, which libFuzzer would not let return."""
    print(f"{run.figures()} ({how})", flush=True)
    os._exit(1 if run.failures else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--random", action="store_true", help="do not use atheris")
    parser.add_argument("--out", type=Path, help="folder for failing inputs; a temporary one by default")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix=f"fuzz-{arguments.target}-"))
    guided = not arguments.random and importlib.util.find_spec("atheris") is not None
    name = f"fuzz.{arguments.target}"
    with contextlib.ExitStack() as stack:
        if guided:
            import atheris

            stack.enter_context(atheris.instrument_imports(include=["comrecgc", "zipfile"], exclude=compiled_modules()))
        target = cast(Target, importlib.import_module(name))
    run = Run(target, work, (arguments.out or work / "failures").resolve(), arguments.seconds)
    print(f"{arguments.target}: working in {work}", flush=True)
    if guided:
        fuzz_by_coverage(run, arguments.seed, work)
    fuzz_at_random(run, arguments.seed)
    finish(run, "at random")


if __name__ == "__main__":
    main()
