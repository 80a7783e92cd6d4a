from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import comrecgc

HEAVY = {"torch", "torch_geometric", "numba", "scipy", "sklearn", "rdkit", "networkx", "matplotlib", "pandas"}


@pytest.mark.parametrize("name", comrecgc.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(comrecgc, name)
    assert name in dir(comrecgc)
    if name != "__version__":
        assert value.__doc__


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        comrecgc.nothing  # noqa: B018


@pytest.mark.parametrize("code", ["import comrecgc", "import comrecgc.cli"])
def test_the_package_and_its_help_load_nothing_heavy(code: str) -> None:
    listing = f"{code}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


PACKAGES = [
    importlib.import_module(found.name) for found in pkgutil.iter_modules(comrecgc.__path__, "comrecgc.") if found.ispkg
]


def public_callables() -> dict[str, Any]:
    """Everything that can be called from `comrecgc`, the front doors of its packages, and methods of their classes."""
    found = {f"comrecgc.{name}": getattr(comrecgc, name) for name in comrecgc.__all__}
    for package in PACKAGES:
        found |= {f"{package.__name__}.{name}": value for name, value in vars(package).items() if name[0] != "_"}
    found = {name: value for name, value in found.items() if callable(value) and not inspect.ismodule(value)}
    for name, value in list(found.items()):
        if inspect.isclass(value):
            methods = inspect.getmembers(value, inspect.isroutine)
            found |= {f"{name}.{method}": part for method, part in methods if method[0] != "_"}
    return found


def test_no_public_callable_has_more_than_twelve_parameters() -> None:
    counts = {}
    for name, value in public_callables().items():
        try:
            parameters = list(inspect.signature(value).parameters)
        except (TypeError, ValueError):  # compiled, built in, or a property
            continue
        counts[name] = len([parameter for parameter in parameters if parameter not in ("self", "cls")])
    assert not {name: count for name, count in counts.items() if count > 12}


def test_what_is_exported_is_what_type_checkers_see() -> None:
    assert set(comrecgc.__all__) == {"__version__", *comrecgc._HOME}
    written = next(
        node.value
        for node in ast.parse(Path(comrecgc.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert isinstance(written, ast.List), "a literal list, as others cannot be read without running it"


DOCUMENTED = [package for package in PACKAGES if "__all__" in vars(package)]


@pytest.mark.parametrize("package", DOCUMENTED, ids=lambda package: package.__name__)
def test_what_a_front_door_imports_is_what_it_exports(package: Any) -> None:
    imported = [name for name, value in vars(package).items() if name[0] != "_" and not inspect.ismodule(value)]
    assert sorted(imported) == sorted(package.__all__)


def test_documents_import_from_modules_that_export_what_they_name() -> None:
    root = Path(__file__).parents[1]
    for page in [root / "README.md", *root.glob("docs/*.md"), *root.glob("examples/*.py")]:
        for package, names in re.findall(
            r"^from comrecgc\.(\w+) import ([\w, ]+)$", page.read_text("utf-8"), re.MULTILINE
        ):
            module = importlib.import_module(f"comrecgc.{package}")
            if module in PACKAGES:
                assert set(names.split(", ")) <= set(module.__all__), (page.name, package)
