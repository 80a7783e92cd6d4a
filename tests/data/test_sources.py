from __future__ import annotations

import io
import urllib.error
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from comrecgc.data import archive as sources
from comrecgc.data.archive import find_archive
from comrecgc.errors import InputError

WriteTU = Callable[..., Path]


class Answer(io.BytesIO):
    """What `urlopen` returns, as far as it is used."""

    def __init__(self, contents: bytes, declared: int | None = None) -> None:
        super().__init__(contents)
        self.headers = Message()
        if declared is not None:
            self.headers["Content-Length"] = str(declared)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data from the environment, an empty cache, and no network."""
    monkeypatch.delenv("COMRECGC_DATA", raising=False)
    monkeypatch.setattr(sources, "user_cache_path", lambda name: tmp_path / "cache" / name)

    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network\nin tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


@pytest.fixture
def archive(write_zip: Callable[[Mapping[str, str]], Path], tiny_members: dict[str, str]) -> bytes:
    return write_zip(tiny_members).read_bytes()


def test_the_given_root_comes_first_then_the_variable_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bytes
) -> None:
    places = [tmp_path / "root", tmp_path / "variable", tmp_path / "cache" / "comrecgc" / "datasets"]
    for place in places:
        place.mkdir(parents=True)
        (place / "TINY.zip").write_bytes(archive)
    monkeypatch.setenv("COMRECGC_DATA", str(places[1]))
    for place in places:
        assert find_archive("TINY", places[0]) == place / "TINY.zip"
        (place / "TINY.zip").unlink()
    with pytest.raises(InputError, match="TINY is not in"):
        find_archive("TINY", places[0])


def test_names_of_any_case_and_every_layout(tmp_path: Path, write_tu: WriteTU, archive: bytes) -> None:
    folder = write_tu()
    assert find_archive("tiny", tmp_path) == folder
    assert find_archive("Tiny", folder) == folder  # the folder itself
    (tmp_path / "pyg" / "TINY").mkdir(parents=True)
    raw = folder.rename(tmp_path / "pyg" / "TINY" / "raw")
    assert find_archive("TINY", tmp_path / "pyg") == raw
    (tmp_path / "zips" / "tiny").mkdir(parents=True)  # an empty folder does not hide the archive
    (tmp_path / "zips" / "tiny.ZIP").write_bytes(archive)
    assert find_archive("TINY", tmp_path / "zips") == tmp_path / "zips" / "tiny.ZIP"


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"root must be an existing folder \(got '.*missing'\)"):
        find_archive("TINY", tmp_path / "missing")


def test_without_network_the_error_says_where_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMRECGC_DATA", str(tmp_path / "variable"))
    with pytest.raises(InputError) as caught:
        find_archive("TINY", tmp_path)
    message = str(caught.value)
    assert message.startswith(f"TINY is not in {tmp_path}, {tmp_path / 'variable'}, {tmp_path / 'cache'}")
    assert "no network in tests" in message
    assert message.endswith("set COMRECGC_DATA to that folder")
    assert "\n" not in message


def test_a_download_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bytes) -> None:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> Answer:
        assert timeout > 0
        asked.append(url)
        return Answer(archive, len(archive))

    monkeypatch.setattr("urllib.request.urlopen", answer)
    found = find_archive("TINY")
    assert found == tmp_path / "cache" / "comrecgc" / "datasets" / "TINY.zip"
    assert found.read_bytes() == archive
    assert find_archive("TINY") == found
    assert len(asked) == 1
    assert asked[0].endswith("/TINY.zip")


@pytest.mark.parametrize(
    ("contents", "declared", "reason"),
    [
        (b"<html>moved</html>", None, "what came is not a zip archive"),
        (b"PK", 100, "the connection ended after 2 of 100 bytes"),
        (b"x" * 101, None, "it is larger than 100 bytes"),
        (b"", None, "what came is not a zip archive"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes, declared: int | None, reason: str
) -> None:
    monkeypatch.setattr(sources, "_MAX_DOWNLOAD", 100)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer(contents, declared))
    with pytest.raises(InputError, match=reason):
        find_archive("TINY")
    assert not (tmp_path / "cache").exists()
