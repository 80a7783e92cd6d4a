"""The size of the house: python benchmarks/house.py [--source src]

Prints modules, lines (neither blank nor comment), the length of files and functions, the most parameters of a public callable, the names that the largest
package exports, and the seconds of `import comrecgc` and of the command line's help. `--source` measures another checkout, to compare two states.
"""

from __future__ import annotations

import argparse
import ast
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).parent.parent / "src")
    source = parser.parse_args().source.resolve()
    files = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    trees = {name: ast.parse(text) for name, text in files.items()}
    sizes = {name: code_lines(text) for name, text in files.items()}
    print(f"{len(files)} modules, {sum(sizes.values())} lines")
    print(
        f"files: {spread([len(text.splitlines()) for text in files.values()], max(files, key=lambda name: len(files[name])))}"
    )
    lengths = {
        f"{name}:{node.name}": (node.end_lineno or 0) - body_start(node) + 1
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    }
    print(f"functions: {spread(list(lengths.values()), max(lengths, key=lambda name: lengths[name]))}")
    classes = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    parameters = {
        f"{name}:{what}": number for name, tree in trees.items() for what, number in public_callables(tree, classes)
    }
    most = sorted(parameters, key=lambda name: -parameters[name])[:5]
    print("most parameters: " + ", ".join(f"{parameters[name]} {name}" for name in most))
    exported = {name: exports(tree) for name, tree in trees.items() if name.endswith("__init__.py")}
    largest = max(exported, key=lambda name: exported[name])
    print(f"most names exported: {exported[largest]} by {largest}")
    for what, command in (
        ("import comrecgc", ["-c", "import comrecgc"]),
        ("comrecgc --help", ["-m", "comrecgc", "--help"]),
    ):
        print(f"{what}: {seconds(command, source):.2f} s, best of 5")


def code_lines(text: str) -> int:
    """Lines that are neither blank nor comment."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def spread(values: Sequence[int], longest: str) -> str:
    """Median, ninetieth percentile and maximum."""
    percentile = statistics.quantiles(values, n=10)[-1]
    return f"median {statistics.median(values):.0f}, 90% below {percentile:.0f}, longest {max(values)} ({longest})"


def body_start(node: Function) -> int:
    """First line after the signature and the docstring."""
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1
    return node.body[1].lineno if is_docstring else first.lineno


def public_callables(tree: ast.Module, classes: Mapping[str, ast.ClassDef]) -> Iterator[tuple[str, int]]:
    """Public functions, methods and dataclasses of a module, with the number of their parameters."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, num_parameters(node)
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node.name, len(dataclass_fields(node, classes))
        for part in node.body:
            if isinstance(part, Function) and (not part.name.startswith("_") or part.name == "__init__"):
                yield f"{node.name}.{part.name}", num_parameters(part) - 1


def dataclass_fields(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    """Fields of a dataclass that can be passed, those of the classes it inherits from included."""
    inherited = [classes[name] for base in node.bases if (name := ast.unparse(base).partition("[")[0]) in classes]
    own = {
        ast.unparse(part.target)
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and not any(word in ast.unparse(part.annotation) for word in ("ClassVar", "KW_ONLY"))
    }
    return own.union(*(dataclass_fields(base, classes) for base in inherited))


def num_parameters(node: Function) -> int:
    arguments = node.args
    return len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)


def exports(tree: ast.Module) -> int:
    """Names that an `__init__` imports."""
    return sum(
        len(node.names) for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "__future__"
    )


def seconds(command: Sequence[str], source: Path) -> float:
    """Seconds of a fresh interpreter, the best of five."""
    found = []
    for _ in range(5):
        started = time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(source)}
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environment)
        found.append(time.perf_counter() - started)
    return min(found)


if __name__ == "__main__":
    main()
