"""What is released: a wheel and an sdist that hold what they should, and a wheel that works where nothing else of the project is."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import comrecgc

pytest.importorskip("hatchling", reason="wheels are built with hatchling, which is not installed")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


def wheel_of(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_package_and_all_it_reads(dist: Path) -> None:
    with zipfile.ZipFile(wheel_of(dist)) as wheel:
        names = set(wheel.namelist())
    kept = {
        path.relative_to(folder.parent).as_posix()
        for folder in (ROOT / "src" / "comrecgc", ROOT / "reproduction" / "comrecgc_reproduction")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kept == {name for name in names if ".dist-info/" not in name}


def test_the_sdist_holds_what_is_needed_to_test_and_document_it(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.split("/", 1)[1] for name in files.getnames() if "/" in name}
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "LICENSE", "CITATION.cff", "Makefile",
                 "constraints.txt", "mkdocs.yml", "tests/test_release.py", "reproduction/comrecgc_reproduction/paper.py", "docs/index.md", "examples/own_model.py"):  # fmt: skip
        assert name in names


def test_the_wheel_works_in_an_environment_of_its_own(dist: Path, tmp_path: Path) -> None:
    """Dependencies are those of this environment: to install them again would take minutes and the network."""
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean" / "bin" / "python"
    (packages,) = (tmp_path / "clean" / "lib").glob("python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel_of(dist))], check=True, timeout=120)
    theirs = next(Path(path) for path in sys.path if (Path(path) / "torch").is_dir())
    # After the packages of the new environment, and without the link to this checkout.
    (packages / "others.pth").write_text(f"{theirs}\n", encoding="utf-8")
    script = "import comrecgc; print(comrecgc.__file__); print(comrecgc.load_dataset('planted')[0].num_nodes > 0)"
    told = subprocess.run(
        [str(python), "-c", script], cwd=tmp_path, env={}, check=True, capture_output=True, text=True, timeout=120
    ).stdout.split()
    assert Path(told[0]).is_relative_to(tmp_path / "clean")
    assert told[1] == "True"
    command = tmp_path / "clean" / "bin" / "comrecgc"
    for option, words in (("--version", f"comrecgc {comrecgc.__version__}"), ("--help", "explain")):
        result = subprocess.run(
            [str(command), option], check=True, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=120
        )
        assert words in result.stdout


def test_what_is_declared_agrees() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rsplit(" ", 1)[1] for name in project["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    assert project["requires-python"] == f">={versions[0]}"
    quoted = ", ".join(f'"{version}"' for version in versions)
    assert f"## {comrecgc.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {comrecgc.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for name in ("test.yml", "release.yml"):
        assert f"python: [{quoted}]" in (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
        for target in re.findall(r"run: make ([a-z]+)", (ROOT / ".github" / "workflows" / name).read_text()):
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
