"""What the first use compiles: every compiled function of `comrecgc demo`, its signatures and processor seconds.

    python benchmarks/compilation.py                  # the demo with an empty cache
    python benchmarks/compilation.py --top 40

The demo runs in this process, so that nothing is compiled elsewhere. Seconds of a function leave out those of the functions
that it calls. What numba needs to start (its own first compilation) is in the first line of the list.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def record_compilations(events: Any) -> Callable[[], list[tuple[str, str, float]]]:
    """Listen to the compiler; the returned function gives (function, signature, own processor seconds) so far."""
    records: list[tuple[str, str, float]] = []
    running: list[list[float]] = []

    class Listener(events.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:  # noqa: ARG002
            running.append([time.thread_time(), 0.0])

        def on_end(self, event: Any) -> None:
            started, nested = running.pop()
            seconds = time.thread_time() - started
            if running:
                running[-1][1] += seconds
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__.removeprefix('comrecgc.')}.{function.__qualname__}"
            records.append((name, str(event.data["args"]), seconds - nested))

    events.register("numba:compile", Listener())
    return lambda: records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=30, help="functions listed")
    parser.add_argument("--signatures", action="store_true", help="list the argument types, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "numba")  # before numba is imported
        from numba.core import event

        records = record_compilations(event)
        from comrecgc import run
        from comrecgc.cli.explain import run_demo

        run.available_cores = lambda: 1  # nothing is compiled by another process
        run_demo(Path(folder) / "run", 0)
        report(records(), options.top, options.signatures)


def report(records: list[tuple[str, str, float]], top: int, signatures: bool) -> None:
    """Print the total, the most expensive functions, and those with more than one signature."""
    total = sum(seconds for _, _, seconds in records)
    names = {name for name, _, _ in records}
    print(f"{total:.1f} processor seconds, {len(names)} functions, {len(records)} signatures")
    for name, arguments, seconds in sorted(records, key=lambda record: -record[2])[:top]:
        print(f"{seconds:7.2f}  {name}")
        if signatures:
            print(f"         {arguments}")
    for name in sorted(names):
        count = sum(record[0] == name for record in records)
        if count > 1:
            print(f"  {count} signatures of {name}")


if __name__ == "__main__":
    main()
