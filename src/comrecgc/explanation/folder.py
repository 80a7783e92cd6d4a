"""The run folder: an explanation on disk, with checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from comrecgc.errors import InputError
from comrecgc.explanation.decoding import check_format, decode_explanation
from comrecgc.explanation.document import Entry, parse_json
from comrecgc.explanation.encoding import FORMAT, encode_explanation
from comrecgc.explanation.facts import RunFacts
from comrecgc.explanation.tables import csv_text, curve_rows, recourse_rows
from comrecgc.storage import write_json, write_text

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation

T = TypeVar("T")

MANIFEST = "manifest.json"
EXPLANATION = "explanation.json"
RECOURSES = "recourses.csv"
CURVE = "coverage_curve.csv"


def save_explanation(explanation: Explanation, folder: Path) -> None:
    """Write the files of a run; the manifest goes last, so a folder with one that fits is whole."""
    texts = {
        EXPLANATION: encode_explanation(explanation),
        RECOURSES: csv_text(recourse_rows(explanation)),
        CURVE: csv_text(curve_rows(explanation)),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    facts = explanation.facts
    write_json(
        folder / MANIFEST,
        {
            "format": FORMAT,
            "dataset": explanation.dataset,
            "parameters": explanation.parameters,
            "seed": facts.seed,
            "versions": facts.versions,
            "seconds": facts.seconds,
            "peak_memory": facts.peak_memory,
            "model_accuracy": facts.model_accuracy,
            "facts": facts.facts,
            "sha256": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()},
        },
    )


def load_explanation(folder: Path) -> Explanation:
    """Read a run folder.

    Raises:
        InputError: If a file is missing, does not fit its checksum, or says what cannot be.
    """
    manifest = Entry(_parsed(folder / MANIFEST, _bytes(folder / MANIFEST)))
    facts, checksums = _located(folder / MANIFEST, lambda: (_facts(manifest), _checksums(manifest)))
    contents = {name: _bytes(folder / name) for name in (EXPLANATION, RECOURSES, CURVE)}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != checksums[name]:
            raise InputError(f"{folder / name} is damaged: its SHA-256 must be the one in {MANIFEST}")
    document = Entry(_parsed(folder / EXPLANATION, contents[EXPLANATION]))
    return _located(folder / EXPLANATION, lambda: decode_explanation(document, facts))


def _facts(manifest: Entry) -> RunFacts:
    check_format(manifest)
    seed, memory, accuracy = (manifest.get(name) for name in ("seed", "peak_memory", "model_accuracy"))
    versions, seconds = manifest["versions"], manifest["seconds"]
    return RunFacts(
        seed=None if seed is None or not isinstance(seed.value, int) else seed.value,
        versions={name: versions[name].text() for name in versions.mapping()},
        seconds={stage: seconds[stage].number() for stage in seconds.mapping()},
        peak_memory=None if memory is None else int(memory.number()),
        model_accuracy=None if accuracy is None else accuracy.number(),
        facts=manifest["facts"].mapping(),
    )


def _checksums(manifest: Entry) -> dict[str, str]:
    return {name: manifest["sha256"][name].text() for name in (EXPLANATION, RECOURSES, CURVE)}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}") from error


def _parsed(path: Path, content: bytes) -> Any:
    return _located(path, lambda: parse_json(content))


def _located(path: Path, read: Callable[[], T]) -> T:
    """What `read` returns; its complaint gets the file's name."""
    try:
        return read()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except RecursionError:  # a little less deep than what the JSON parser itself refuses
        raise InputError(f"{path}: lists and objects must not be nested so deep") from None
