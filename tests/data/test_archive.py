from __future__ import annotations

import errno
import io
import os
import stat
import urllib.error
import zipfile
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from comrecgc.data import tu
from comrecgc.data.tu import find_archive, open_files
from comrecgc.errors import InputError

WriteZip = Callable[[Mapping[str, str]], Path]


def test_folder_and_zip_give_the_same_files(tmp_path: Path, write_zip: WriteZip) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("alpha")
    from_folder, from_zip = open_files(tmp_path / "folder"), open_files(write_zip({"deep//down/a.txt": "alpha"}))
    assert set(from_folder.members) == set(from_zip.members) == {"a.txt"}
    assert from_folder.read("a.txt") == from_zip.read("a.txt") == b"alpha"
    assert from_zip.where("a.txt").endswith("archive.zip:a.txt")


def test_files_left_by_macos_are_ignored(write_zip: WriteZip) -> None:
    files = open_files(write_zip({"X/a.txt": "1", "__MACOSX/X/._a.txt": "2", "X/.DS_Store": "3"}))
    assert set(files.members) == {"a.txt"}


def test_missing_file_is_named(write_zip: WriteZip) -> None:
    with pytest.raises(InputError, match=r"archive\.zip must hold a file b\.txt$"):
        open_files(write_zip({"a.txt": "1"})).read("b.txt")


def test_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere must be an existing folder"):
        open_files(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../a.txt", "x/../../a.txt", "/etc/a.txt", "x\\a.txt", "C:/a.txt", ".."])
def test_names_that_leave_the_folder_are_refused(write_zip: WriteZip, name: str) -> None:
    with pytest.raises(InputError, match="only plain relative names"):
        open_files(write_zip({"b.txt": "1", name: "2"}))


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    member = zipfile.ZipInfo("a.txt")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, "/etc/passwd")
    with pytest.raises(InputError, match=r"no links or devices \(got 'a\.txt'\)"):
        open_files(path)


def test_an_encrypted_archive_is_refused(write_zip: WriteZip) -> None:
    path = write_zip({"a.txt": "1"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # flag bit 0 in the central directory
    path.write_bytes(data)
    with pytest.raises(InputError, match="must not be encrypted"):
        open_files(path)


def test_the_same_name_twice_is_refused(write_zip: WriteZip) -> None:
    with pytest.raises(InputError, match=r"each file once \(got a\.txt twice\)"):
        open_files(write_zip({"x/a.txt": "1", "y/a.txt": "2"}))


def test_an_archive_that_declares_too_much_is_refused(write_zip: WriteZip, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_zip({"a.txt": "1" * 1000, "b.txt": "2" * 1000})
    monkeypatch.setattr(tu, "MAX_UNPACKED", 2000)
    assert len(open_files(path).read("a.txt")) == 1000
    monkeypatch.setattr(tu, "MAX_UNPACKED", 1999)
    with pytest.raises(InputError, match=r"at most 1999 bytes \(got 2000\)"):
        open_files(path)


def test_a_bomb_is_refused_by_its_ratio(write_zip: WriteZip) -> None:
    path = write_zip({"a.txt": "0" * (80 << 20)})
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match="not unpack to more than 500"):
        open_files(path)


def test_a_member_larger_than_it_declares_is_never_read_whole(write_zip: WriteZip) -> None:
    path = write_zip({"a.txt": "0" * 100_000})
    data = bytearray(path.read_bytes())
    size = data.index(b"PK\x01\x02") + 24  # uncompressed size in the central directory
    data[size : size + 4] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"Cannot read .*a\.txt"):
        open_files(path).read("a.txt")


def test_a_large_file_in_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("123")
    monkeypatch.setattr(tu, "MAX_BYTES", 2)
    with pytest.raises(InputError, match=r"at most 2 bytes \(got 3\)"):
        open_files(tmp_path).read("a.txt")


def test_what_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"not a zip")
    with pytest.raises(InputError, match=r"Cannot read .*a\.zip as a folder"):
        open_files(tmp_path / "a.zip")


def test_damage_anywhere_never_gives_wrong_contents(write_zip: WriteZip) -> None:
    text = "".join(f"{i}, {i * i % 97}\n" for i in range(300))
    path = write_zip({"x/a.txt": text})
    whole = path.read_bytes()
    refusals: list[str] = []
    for damaged in (
        *(whole[:length] for length in range(0, len(whole), 37)),
        *(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :] for i in range(0, len(whole), 3)),
    ):
        path.write_bytes(damaged)
        try:
            files = open_files(path)
            contents = files.read(next(iter(files.members), "a.txt"))
        except InputError as error:
            refusals.append(str(error))
        else:
            assert contents == text.encode()
    assert len(refusals) > 100
    assert not any("\n" in refusal for refusal in refusals)


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: str) -> bytes:  # noqa: ARG001  # as the system does, but also where root runs the tests, who may read everything
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    (tmp_path / "a.txt").write_text("1")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"Cannot read .*a\.txt: Permission denied"):
        open_files(tmp_path).read("a.txt")


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
    monkeypatch.setattr(tu, "user_cache_path", lambda name: tmp_path / "cache" / name)

    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network\nin tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


@pytest.fixture
def contents(write_zip: Callable[[Mapping[str, str]], Path], tiny_members: dict[str, str]) -> bytes:
    return write_zip(tiny_members).read_bytes()


def test_the_given_root_comes_first_then_the_variable_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes
) -> None:
    places = [tmp_path / "root", tmp_path / "variable", tmp_path / "cache" / "comrecgc" / "datasets"]
    for place in places:
        place.mkdir(parents=True)
        (place / "TINY.zip").write_bytes(contents)
    monkeypatch.setenv("COMRECGC_DATA", str(places[1]))
    for place in places:
        assert find_archive("TINY", places[0]) == place / "TINY.zip"
        (place / "TINY.zip").unlink()
    with pytest.raises(InputError, match="TINY is not in"):
        find_archive("TINY", places[0])


def test_names_of_any_case_and_every_layout(tmp_path: Path, write_tu: WriteTU, contents: bytes) -> None:
    folder = write_tu()
    assert find_archive("tiny", tmp_path) == folder
    assert find_archive("Tiny", folder) == folder  # the folder itself
    (tmp_path / "pyg" / "TINY").mkdir(parents=True)
    raw = folder.rename(tmp_path / "pyg" / "TINY" / "raw")
    assert find_archive("TINY", tmp_path / "pyg") == raw
    (tmp_path / "zips" / "tiny").mkdir(parents=True)  # an empty folder does not hide the archive
    (tmp_path / "zips" / "tiny.ZIP").write_bytes(contents)
    assert find_archive("TINY", tmp_path / "zips") == tmp_path / "zips" / "tiny.ZIP"


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="root must be an existing folder"):
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


def test_a_download_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes) -> None:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> Answer:
        assert timeout > 0
        asked.append(url)
        return Answer(contents, len(contents))

    monkeypatch.setattr("urllib.request.urlopen", answer)
    found = find_archive("TINY")
    assert found == tmp_path / "cache" / "comrecgc" / "datasets" / "TINY.zip"
    assert found.read_bytes() == contents
    assert find_archive("TINY") == found
    assert len(asked) == 1
    assert asked[0].endswith("/TINY.zip")


@pytest.mark.parametrize(
    ("contents", "declared", "reason"),
    [
        (b"<html>moved</html>", None, "not a zip archive"),
        (b"PK", 100, "the connection ended after 2"),
        (b"x" * 101, None, "it is larger than 100 bytes"),
        (b"", None, "not a zip archive"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes, declared: int | None, reason: str
) -> None:
    monkeypatch.setattr(tu, "_MAX_DOWNLOAD", 100)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer(contents, declared))
    with pytest.raises(InputError, match=reason):
        find_archive("TINY")
    assert not (tmp_path / "cache").exists()
