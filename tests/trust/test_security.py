"""What strangers hand in cannot run code, write elsewhere, or make the program talk to the network."""

from __future__ import annotations

import ast
import csv
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import comrecgc
from comrecgc.data import tu
from comrecgc.explanation import Explanation
from comrecgc.graphs import Edit, EditKind
from comrecgc.models import ClassifierTraining, EmbedderTraining, obtain_classifier, obtain_embedder
from comrecgc.report.pages import render_report
from tests.cli.command import run
from tests.explanations import explain, tiny_dataset
from tests.stubs import small_dataset
from tests.trust.conftest import names, one_line

SOURCES = sorted(Path(comrecgc.__file__).parent.rglob("*.py"))
UNSAFE_MODULES = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "jsonpickle", "yaml", "subprocess"}
UNSAFE_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "joblib.load", "joblib.dump", "torch.save",
    "pandas.read_pickle", "tarfile.open", "tempfile.mktemp",
}  # fmt: skip


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call in a file, by the name it is written with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield ast.unparse(node.func), node


def keyword(call: ast.Call, name: str) -> object:
    """The literal value of a keyword argument; None where there is none."""
    found = [argument.value for argument in call.keywords if argument.arg == name]
    return found[0].value if found and isinstance(found[0], ast.Constant) else None


def test_the_source_was_found() -> None:
    assert len(SOURCES) > 100
    called = {name for path in SOURCES for name, _ in calls(ast.parse(path.read_text()))}
    assert {"torch.load", "np.load"} <= called


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_nothing_unpickles_or_runs_what_it_reads(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not imported & UNSAFE_MODULES
    for name, call in calls(tree):
        assert name not in UNSAFE_CALLS, f"{name} in line {call.lineno}"
        assert not name.endswith((".extractall", ".extract")), f"{name} in line {call.lineno}"
        if name == "torch.load":
            assert keyword(call, "weights_only") is True
        if name in ("np.load", "numpy.load"):
            assert keyword(call, "allow_pickle") is False


def hostile_zip(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("A", "graph_indicator", "graph_labels", "node_labels"):
            file.writestr(f"evil/evil_{name}.txt", "1, 1\n")
        if kind == "bomb":
            file.writestr("evil/evil_edge_labels.txt", b"0" * (80 << 20))
        elif kind == "link":
            member = zipfile.ZipInfo("evil/evil_edge_labels.txt")
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(member, str(folder / "outside"))
        else:
            file.writestr({"traversal": "../outside", "absolute": str(folder / "outside")}[kind], "overwritten")
    return path


@pytest.mark.parametrize("kind", ["traversal", "absolute", "link", "bomb"])
def test_hostile_archives_are_refused_and_nothing_is_unpacked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside").write_text("precious")
    path = hostile_zip(tmp_path, kind)
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "train", "classifier", "--dataset", path, "--out", tmp_path / "m.safetensors") == 2
    assert path.name in one_line(capsys.readouterr().err)
    assert (tmp_path / "outside").read_text() == "precious"
    assert names(tmp_path) == {"outside", path.name}


def test_an_archive_is_read_in_memory_only() -> None:
    source = Path(tu.__file__).read_text()
    reading, download, _ = source.partition("def _download(")  # which keeps an archive whole, as it came
    assert download
    assert not any(f"{word}(" in reading for word in ("write_bytes", "write_text", "mkdir", "extract", "extractall"))
    opened = [call for name, call in calls(ast.parse(source)) if name.rpartition(".")[2] == "open"]
    assert opened
    modes = {keyword(call, "mode") for call in opened} | {
        argument.value for call in opened for argument in call.args if isinstance(argument, ast.Constant)
    }
    assert modes <= {None, "rb"}


@pytest.mark.parametrize(
    "start",
    ["=", "+", "-", "@", "\t=", "\r=", "\n@", " =", "＝", "＋", "－", "＠", "\ufeff=", "\u200b+", "\x00-", "\x1b="],
)
def test_no_cell_of_a_table_runs_as_a_formula(start: str, tmp_path: Path) -> None:
    hostile = f"{start}HYPERLINK(1)"
    explanation = explain(tiny_dataset(), [[(1, (Edit(EditKind.REMOVE_NODE, 2),))]])
    recourse = replace(explanation.recourses[0], summary=hostile, description=hostile)
    replace(explanation, recourses=(recourse,)).save(tmp_path)
    for name in ("recourses.csv", "coverage_curve.csv"):
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))]
        assert not [char for cell in cells for char in cell if not char.isprintable()]
    assert "HYPERLINK" in (tmp_path / "recourses.csv").read_text()


class Scripts(HTMLParser):
    """Scripts, handlers and addresses in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts = 0
        self.suspicious: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.suspicious += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name.startswith("on")
            or (value or "").strip().lower().startswith(("javascript:", "http:", "https:", "//"))
        ]
        if tag in ("iframe", "object", "embed", "base", "form"):
            self.suspicious.append(tag)


@pytest.mark.parametrize(
    "hostile",
    [
        "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "<svg onload=alert(1)>",
        "javascript:alert(1)",
        "{{ 7 * 7 }}{% raw %}",
        "<!-- --><iframe src=//evil>",
    ],
)
def test_no_name_becomes_markup_in_the_report(hostile: str) -> None:
    plain = explain(tiny_dataset(), [])
    explanation = replace(
        plain,
        schema=replace(
            plain.schema,
            dataset=hostile,
            class_names=(hostile, "accept"),
            label_names=(hostile, *plain.schema.label_names[1:]),
        ),
        warnings=(hostile,),
        notes=(hostile,),
    )
    expected, page = Scripts(render_report(plain)), Scripts(render_report(explanation))
    assert page.scripts == expected.scripts
    assert page.suspicious == expected.suspicious == []


FILES = [
    "manifest.json", "explanation.json", "recourses.csv", "coverage_curve.csv", "report.html", "witnesses.npz",
    "search.npz", "run.json",
]  # fmt: skip


@pytest.mark.usefixtures("no_pauses")
def test_links_in_a_run_folder_are_replaced_not_followed(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    for name in FILES:
        (outside / name).write_text("precious")
        (folder / name).symlink_to(outside / name)
    assert run(monkeypatch, *options, "--out", folder) == 2
    assert run(monkeypatch, *options, "--out", folder, "--resume") == 2
    one_line(capsys.readouterr().err.splitlines()[-1])
    assert run(monkeypatch, *options, "--out", folder, "--overwrite") == 0
    for name in FILES:
        assert (outside / name).read_text() == "precious"
        assert not (folder / name).is_symlink()
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(outside / "report.html")
    assert run(monkeypatch, "report", folder) == 0
    assert (outside / "report.html").read_text() == "precious"
    assert "<html" in (folder / "report.html").read_text()


def test_links_in_the_place_of_models_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "file" / name)
    folder, outside, dataset = tmp_path / "run", tmp_path / "outside", small_dataset()
    folder.mkdir()
    outside.mkdir()
    linked = ["classifier.safetensors", "classifier.json", "embedder.safetensors"]
    for name in linked:
        (outside / name).write_text("precious")
        (folder / name).symlink_to(outside / name)
    obtain_embedder(dataset, None, folder, training=EmbedderTraining(effort=0.001))
    obtain_classifier(dataset, None, folder, training=ClassifierTraining(epochs=2, hidden=4))
    assert not any((folder / name).is_symlink() for name in linked)
    assert {path.name for path in outside.iterdir()} == set(linked)
    assert all((outside / name).read_text() == "precious" for name in linked)


OFFLINE = """
import sys
from pathlib import Path

def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname",
                 "urllib.Request", "webbrowser.open"):
        raise RuntimeError(f"the network was used: {event} {arguments}")

sys.addaudithook(refuse)
from comrecgc.cli.explain import run_demo
explanation = run_demo(Path(sys.argv[1]), 0, num_recourses=3, panel_epochs=5)
print("covered", explanation.coverage)
"""


def test_a_whole_run_needs_no_network(tmp_path: Path) -> None:
    """Training, search and report on the whole planted dataset, with the network refused twice over where possible."""
    unshare = shutil.which("unshare")
    isolated = [unshare, "--net"] if unshare else []
    if isolated and subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode:
        isolated = []
    done = subprocess.run(
        [*isolated, sys.executable, "-c", OFFLINE, tmp_path / "run"],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "covered" in done.stdout
    assert Explanation.load(tmp_path / "run").recourses


def test_the_guard_against_the_network_guards(tmp_path: Path) -> None:
    script = (
        OFFLINE.split("from comrecgc.cli.explain", maxsplit=1)[0]
        + "import socket; socket.create_connection(('127.0.0.1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the network was used" in done.stderr


def test_a_missing_benchmark_asks_the_network_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        raise OSError("no network in tests")

    monkeypatch.delenv("COMRECGC_DATA", raising=False)
    monkeypatch.setattr("comrecgc.data.tu.user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr("comrecgc.data.tu._fetch", fetch)
    assert run(monkeypatch, "train", "classifier", "--dataset", "aids", "--out", tmp_path / "m.safetensors") == 2
    assert len(asked) == 1
    assert asked[0] in one_line(capsys.readouterr().err)
