"""The modules that a molecule passes from a table to the report: python benchmarks/way.py [--source src] [--listed]

Runs `comrecgc explain` on a table of planted molecules and records every function of the package when it is first called. A *step* is a first call of a
public function from another module. A module is *entered twice* if steps lead into it from more than one module. Modules of `graphs`, `run` and `errors`
are passed, but are no stations of the way: they define what all others speak of. Calls made while a module is being imported (decorators of classes,
tables of names) do not count: no molecule is on its way then. `--source` traces another checkout, to compare two states. Compiled code is not seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

FOUNDATIONS = ("graphs", "run", "errors", "terminal", "storage", "engine", "kernels", "threads")
MOLECULES = 60


class Trace:
    """First calls of the functions in a folder, as (caller's module, module, function)."""

    def __init__(self, folder: Path) -> None:
        self.prefix = f"{folder}/"
        self.seen: set[Any] = set()
        self.calls: list[tuple[str, str, str]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self.seen:
            return
        is_function = code.co_flags & 0x1  # not the body of a module or a class
        if not is_function or code.co_name.startswith("<") or not code.co_filename.startswith(self.prefix):
            self.seen.add(code)
            return
        if is_importing(frame):
            return
        self.seen.add(code)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.prefix):
            caller = caller.f_back
        above = "" if caller is None else self._module(caller.f_code.co_filename)
        self.calls.append((above, self._module(code.co_filename), code.co_name))

    def _module(self, path: str) -> str:
        return path.removeprefix(self.prefix).removesuffix(".py").replace("/", ".")


def is_importing(frame: FrameType | None) -> bool:
    """Whether an import is under way below this frame."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).parent.parent / "src")
    parser.add_argument(
        "--listed", action="store_true", help="print the modules in the order in which they are entered"
    )
    options = parser.parse_args()
    source = options.source.resolve()
    sys.path.insert(0, str(source))
    trace = Trace(source / "comrecgc")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "molecules.csv"
        table.write_text(planted_table(), encoding="utf-8")
        explain(trace, ["--dataset", str(table), "--out", str(Path(folder) / "run"), "--max-changes", "1"])
    steps = {
        (above, module)
        for above, module, name in trace.calls
        if above != module and (not name.startswith("_") or name == "__init__")
    }
    show("all modules", trace.calls, steps)
    far = {step for step in steps if step[1].partition(".")[0] not in FOUNDATIONS}
    show("stations", [call for call in trace.calls if call[1].partition(".")[0] not in FOUNDATIONS], far)
    if options.listed:
        for module in dict.fromkeys(module for _, module, _ in trace.calls):
            print(f"{module}: from {', '.join(sorted(above for above, below in steps if below == module)) or 'within'}")


def planted_table() -> str:
    """Molecules and their labels as CSV."""
    from comrecgc.molecules import to_smiles

    try:
        from comrecgc.data import load_planted
    except ImportError:  # as in checkouts before packages were renamed
        from comrecgc.datasets import load_planted  # type: ignore[import-not-found,no-redef]
    dataset = load_planted(num_graphs=MOLECULES)
    rows = [
        f"{to_smiles(graph, dataset.label_names)},{label}"
        for graph, label in zip(dataset.graphs, dataset.classes, strict=True)
    ]
    return "\n".join(["smiles,label", *rows]) + "\n"


def explain(trace: Trace, arguments: Sequence[str]) -> None:
    """Run the command under the trace."""
    import comrecgc.cli

    sys.argv = ["comrecgc", "explain", *arguments]
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        comrecgc.cli.main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def show(name: str, calls: Sequence[tuple[str, str, str]], steps: set[tuple[str, str]]) -> None:
    """Print how many modules were passed, and how many entered twice."""
    entered = [below for _, below in steps]
    twice = sorted({below for below in entered if entered.count(below) > 1})
    print(f"{name}: {len({module for _, module, _ in calls})} passed, {len(steps)} steps, {len(twice)} entered twice")
    print(f"  {', '.join(twice)}")


if __name__ == "__main__":
    main()
