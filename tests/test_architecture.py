"""The house rules that can be checked: data flows one way, packages have front doors, every module has a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import comrecgc

SOURCE = Path(comrecgc.__file__).parent
TESTS = Path(__file__).parent

# From what knows least to what knows most. A package may import those above it in this list, and only those.
ORDER = [
    "errors", "run", "graphs", "molecules", "drawing", "data", "models", "scoring", "cover", "algorithms", "wording",
    "explanation", "explainer", "pyg", "evidence", "report", "runs", "cli",
]  # fmt: skip

# Packages without a front door: `algorithms` holds one package per algorithm, and each is imported by its modules.
OPEN = ("algorithms",)


def imports(path: Path) -> Iterator[str]:
    """Modules of the project that a file imports, without the project's name, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            packages = [f"comrecgc.{alias.name}" for alias in node.names if (SOURCE / alias.name).is_dir()]
            names = packages if node.module == "comrecgc" else [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("comrecgc.") for name in names if name.startswith("comrecgc."))


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules() -> Iterator[Path]:
    yield from (
        path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or not path.name.startswith("__")
    )


def test_every_package_has_its_place() -> None:
    assert {package_of(path) for path in modules()} == set(ORDER)


def test_data_flows_one_way() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in modules()
        for name in imports(path)
        if (above := name.partition(".")[0]) != package_of(path) and ORDER.index(above) > ORDER.index(package_of(path))
    ]
    assert not wrong


def test_packages_are_entered_by_the_front_door() -> None:
    past = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in modules()
        for name in imports(path)
        if "." in name
        and name.partition(".")[0] != package_of(path)
        and not name.startswith(OPEN)
        and not name.endswith("_kernels")
    ]
    assert not past


def test_a_folder_has_at_least_two_files_and_is_at_most_two_deep() -> None:
    folders = {path.parent for path in modules()} - {SOURCE}
    assert not [folder.name for folder in folders if len(list(folder.glob("*.py"))) < 2]
    assert not [path for path in modules() if len(path.relative_to(SOURCE).parts) > 3]


def test_every_module_has_a_test() -> None:
    """`comrecgc/package/module.py` has `tests/package/test_module.py`, or a test file names `comrecgc.package.module` in its docstring."""
    tests = [path for folder in (TESTS, TESTS.parent / "fuzz") for path in folder.rglob("*.py")]
    named = "\n".join(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in tests)
    untested = []
    for path in modules():
        inside = path.relative_to(SOURCE)
        name = ".".join(("comrecgc", *inside.with_suffix("").parts))
        own = TESTS / inside.parent / f"test_{inside.name}"
        if inside.name != "__init__.py" and not own.exists() and not re.search(rf"{re.escape(name)}\b", named):
            untested.append(name)
    assert not untested
