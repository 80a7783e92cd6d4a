"""What the documents show runs: the blocks of each, in order, in an empty folder."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import typer.main
from torch import Tensor
from torch_geometric.nn import GCNConv, global_add_pool
from typer.testing import CliRunner

from comrecgc.algorithms.base import options_of
from comrecgc.algorithms.registry import ALGORITHMS
from comrecgc.cli.app import app
from comrecgc.data import load_planted

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


class CountsNitrogen(torch.nn.Module):
    """Stands for a user's model: two convolutions, then a verdict that falls with the number of nitrogens."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(7, 7)
        with torch.no_grad():
            self.conv.lin.weight.copy_(torch.eye(7))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        spread = self.conv(x, edge_index)
        nitrogens = global_add_pool(x[:, 2] + 0.1 * spread[:, 2], batch)
        return torch.stack([nitrogens - 0.9, 0.9 - nitrogens], dim=1)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where blocks run; models they train are not taken from, or left in, the user's cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def blocks(path: Path) -> list[tuple[str, str]]:
    """The Python and shell blocks of a document, each with its language."""
    return re.findall(r"^```(python|sh)\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(script: str) -> list[str]:
    """The lines of a shell block without comments."""
    lines = [re.sub(r"(^|\s+)#.*", "", line).strip() for line in script.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line]


def run(path: Path, **names: Any) -> dict[str, Any]:
    """Run the blocks of a document; what one defines the next may use."""
    for language, block in blocks(path):
        if language == "python":
            exec(compile(block, str(path), "exec"), names)  # noqa: S102
            continue
        for command in commands(block):
            run_command(command)
    return names


def run_command(command: str) -> None:
    """Run a line of a shell block, the project's own commands in this process, which has the packages loaded."""
    if not command.startswith("comrecgc "):
        subprocess.run(command, shell=True, check=True, timeout=60, env=os.environ)
        return
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.output}"


def test_the_readme_runs_as_printed(capsys: pytest.CaptureFixture[str], empty_folder: Path) -> None:
    (example,) = [block for language, block in blocks(ROOT / "README.md") if language == "python"]
    assert len(example.splitlines()) <= 15
    exec(example, {"graphs": load_planted(num_graphs=40).to_pyg(), "model": CountsNitrogen()})  # noqa: S102
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+ rules turn \d+% of \d+ rejects", lines[0])
    assert all(re.fullmatch(r"\d+ graphs: .+", line) for line in lines[1:-1])
    assert re.fullmatch(r"\d+% of \d+ unseen rejects", lines[-1])
    assert (empty_folder / "run" / "report.html").exists()


def test_the_tutorial_on_your_own_model_runs(empty_folder: Path) -> None:
    names = run(DOCS / "tutorial_pyg.md")
    assert names["explanation"].coverage > 0.6
    # What was planted is what is found: reds are recoloured or removed, and that comes true.
    assert all("red" in recourse.summary for recourse in names["explanation"].recourses)
    assert names["explanation"].metrics["expected_true"] > 0.8
    for name in ("recourse.png", "curve.png", "run/report.html"):
        assert (empty_folder / name).stat().st_size > 1000


def test_the_example_is_the_tutorial() -> None:
    """So that running the tutorial runs every cell of the example."""
    text = (ROOT / "examples" / "own_model.py").read_text(encoding="utf-8")
    cells = [cell.strip("\n") for cell in re.split(r"^# %% .*\n", text, flags=re.MULTILINE)]
    assert isinstance(ast.parse(cells[0]).body[0], ast.Expr)
    shown = [block.strip("\n") for language, block in blocks(DOCS / "tutorial_pyg.md") if language == "python"]
    assert cells[1:] == shown[: len(cells) - 1]


def test_the_tutorial_on_molecules_runs(empty_folder: Path) -> None:
    pytest.importorskip("rdkit")
    names = run(DOCS / "tutorial_smiles.md")
    assert names["explanation"].coverage > 0.7
    summaries = [recourse.summary for recourse in names["explanation"].recourses]
    for group in ("nitro (–NO2)", "nitrosamine", "epoxide"):
        assert any(group in summary for summary in summaries[:5])
    assert not any(summary.count("nitro (") and "nitrosamine" in summary for summary in summaries)
    assert len(set(summaries)) == len(summaries)
    for name in ("run/report.html", "run/recourses.csv", "run/molecules.csv", "results.sdf", "applied.json"):
        assert (empty_folder / name).stat().st_size > 100


@pytest.mark.parametrize("name", ["fingerprint_forest", "bond_features", "chemprop_model"])
def test_the_examples_of_models_of_molecules_run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rdkit")
    if name == "chemprop_model":
        pytest.importorskip("chemprop", reason="chemprop wants an older rdkit, so the project does not depend on it")
    from comrecgc.molecules import sanitise

    path = ROOT / "examples" / f"{name}.py"
    monkeypatch.setattr("sys.argv", [str(path)])
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102
    explanation = names["explanation"]
    assert explanation.coverage > 0.3
    assert any("nitro" in recourse.summary for recourse in explanation.recourses)
    for recourse in explanation.recourses:
        for member in recourse.covered:
            molecule = sanitise(member.counterfactual, explanation.schema.label_names)
            assert molecule is not None
            assert molecule.GetNumAtoms() == member.counterfactual.num_nodes
            assert "." not in names["to_smiles"](member.counterfactual, explanation.schema.label_names)
    assert "1. " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("social_network", "person"),
        ("compare_models", "holds for both"),
        ("classes_and_bonds", "into an edge of label 1"),
        ("papers_method", "trivial_coverage"),
    ],
)
def test_the_examples_of_the_gallery_run(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_example(name)
    assert words in capsys.readouterr().out
    if "explanation" in names:
        assert names["explanation"].coverage > 0.3


def test_the_example_of_a_scaffold_keeps_it(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    from rdkit import Chem

    from comrecgc.molecules import to_smiles

    names = run_example("protect_scaffold")
    nitro, kept = Chem.MolFromSmarts(names["KEPT"][0]), names["kept"]
    assert "nitro groups kept" in capsys.readouterr().out
    assert kept.coverage < names["free"].coverage
    for recourse in kept.recourses:
        for member in recourse.covered:
            before, after = (
                Chem.MolFromSmiles(to_smiles(graph, kept.schema.label_names))
                for graph in (kept.inputs[member.input].graph, member.counterfactual)
            )
            assert len(after.GetSubstructMatches(nitro)) >= len(before.GetSubstructMatches(nitro))


def run_example(name: str) -> dict[str, Any]:
    """Run a script of the examples; the names it defines."""
    path = ROOT / "examples" / f"{name}.py"
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102
    return names


def test_the_gallery_shows_every_example() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f"`{path.name}`" in text


@pytest.mark.parametrize("name", ["architecture.md", "changes.md"])
def test_what_is_shown_runs(name: str) -> None:
    run(DOCS / name)


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda path: path.name)
def test_commands_that_are_shown_exist(path: Path) -> None:
    """Every `comrecgc …` line of a shell block, and of the prose where it is a whole command, parses."""
    text = path.read_text(encoding="utf-8")
    lines = [line for language, block in blocks(path) if language == "sh" for line in commands(block)]
    lines += re.findall(r"`(comrecgc (?:[a-z]+ )+--[^`…]*)`", text)
    for line in lines:
        if line.startswith("comrecgc "):
            parse(shlex.split(line)[1:])


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    """Paths of Python files in backticks, from the root of the repository or of the package."""
    named = re.findall(r"`(?:python )?([a-z_]+(?:/[a-z_]+)+\.py|[a-z]{3,}/)", path.read_text(encoding="utf-8"))
    roots = (ROOT, ROOT / "src" / "comrecgc", ROOT / "src", ROOT / "reproduction")
    missing = [name for name in named if name not in MADE and not any((root / name).exists() for root in roots)]
    assert not missing


MADE = {"site/", "dist/", "run/", "shards/"}  # by commands


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_that_are_imported_exist(path: Path) -> None:
    for line in re.findall(
        r"^ *from (comrecgc[a-z_.]*) import ([\w, ]+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE
    ):
        module = importlib.import_module(line[0])
        missing = [name for name in line[1].replace(" ", "").split(",") if name and not hasattr(module, name)]
        assert not missing, line[0]


def test_the_architecture_page_names_what_there_is() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([A-Za-z_.]+)`", re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE))
    parts = {part for name in named if "/" not in name and not name.endswith(".py") for part in name.split(".")}
    assert {"RuleTable", "CommonRecourse"} <= parts
    assert not [part for part in parts if not re.search(rf"\b{part}\b", source) and part != "package"]


def parse(arguments: list[str]) -> None:
    """Parse a command without running it."""
    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "commands"):
        if "--help" in arguments:
            return
        context = command.make_context("comrecgc", list(arguments), parent=context)
        _, command, arguments = command.resolve_command(context, list(arguments))
    command.make_context("command", list(arguments), parent=context)


def test_commands_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(Exception, match=r"[Nn]o such option"):
        parse(["explain", "--dataset", "aids", "--colour", "red"])
    with pytest.raises(Exception, match=r"[Nn]o such command"):
        parse(["dance"])


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(
        r"^```.*?^```$|^ {4}.*?$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        assert target.startswith("http") or (path.parent / target).exists(), target


def test_the_command_line_reference_has_every_option() -> None:
    reference = command_line_reference().commands_markdown()
    sections = {section.split("\n", 1)[0]: section for section in reference.split("## ")[1:]}
    for words in ("demo", "explain", "choose", "apply", "evaluate", "report", "train classifier", "train embedder"):
        shown = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
        options = set(re.findall(r"--[a-z][a-z-]+", shown.split("Options", 1)[1])) - {"--help"}
        assert options or words == "report"
        for option in options:
            assert re.search(rf"`[^`]*{option}\b", sections[f"comrecgc {words}"]), (words, option)


def test_the_command_line_reference_has_every_command() -> None:
    reference = command_line_reference()
    titles = re.findall(r"^## comrecgc (.*)$", reference.commands_markdown(), flags=re.MULTILINE)
    assert len(titles) == len(set(titles))
    for group in ([], ["train"]):
        shown = CliRunner().invoke(app, [*group, "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
        listed = re.findall(r"^\W*([a-z]+) {2,}", shown.split("Commands", 1)[1], flags=re.MULTILINE)
        assert listed
        for name in listed:
            assert any(title.split()[: len(group) + 1] == [*group, name] for title in titles), name
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert reference.MARK in page
    assert "comrecgc explain" in reference.on_page_markdown(page)


def test_the_reference_of_algorithms_has_every_option() -> None:
    reference = command_line_reference()
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    sections = reference.on_page_markdown(page).split("### comrecgc.")[1:]
    assert [section.split("\n", 1)[0] for section in sections] == [made.__name__ for made in ALGORITHMS.values()]
    for section, algorithm in zip(sections, ALGORITHMS.values(), strict=True):
        assert all(f"| `{name}` |" in section for name in options_of(algorithm))


def command_line_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("command_line", DOCS / "command_line.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_package_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    for name in (
        "cover data evidence explainer explanation graphs models molecules pyg report scoring wording"
    ).split():
        assert f"::: comrecgc.{name}\n" in page
