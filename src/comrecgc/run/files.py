"""Reading and writing of files: every write is atomic, and nothing is unpickled."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import json
import os
import secrets
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar

from comrecgc.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor, nn

_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # what file systems that cannot sync a folder say


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name in its own folder, sync it, rename it into place, and sync the folder.

    A reader sees the old file or the new one, never half of either, also after a kill, a full disk or a power cut. A
    link at the path is replaced, not followed. The folder is made if needed.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _created(temporary) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105  the one name for all that touches the disk here
        _sync_folder(path.parent)
    except BaseException as error:
        _remove_silently(temporary)
        if isinstance(error, OSError):
            raise InputError(f"Cannot write {path}: {reason_of(error)}") from error
        raise


def remove_parts(folder: Path, name: str | None = None) -> None:
    """Remove leftovers of killed writers in a folder, of one file or of all; only for the folder's single writer."""
    for part in folder.glob(f".{'*' if name is None else glob.escape(name)}.*.part"):
        _remove_silently(part)


def check_writable(folder: Path) -> None:
    """Make the folder if needed, and refuse one that nothing can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"Cannot write to {folder}: {reason_of(error)}") from error


def write_bytes(path: Path, contents: bytes | memoryview) -> None:
    """Write a file atomically."""
    write_atomically(path, lambda file: file.write(contents))


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file; a missing or damaged one is named."""
    try:
        return json.loads(read_bytes(path).decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}".splitlines()[0]) from error


def read_bytes(path: Path) -> bytes:
    """The contents of a file; a missing one is named."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """The reason for a file error, in one line."""
    return " ".join(str(error.strerror or error).split()) or type(error).__name__


def _created(path: Path) -> BinaryIO:
    """A new file, open for writing; existing files and links are never opened."""
    return path.open("xb")


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def _remove_silently(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


# One writer at a time: a lock that the system lets go of when its process dies, however it dies.


FOLDER_LOCK = ".lock"

_CANNOT_LOCK = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)  # what file systems without locks say


@contextmanager
def only_writer_in(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes while the block runs, and remove leftovers of killed writers."""
    with _locked(folder / FOLDER_LOCK, folder, wait=False):
        remove_parts(folder)
        yield


@contextmanager
def only_writer_of(path: Path, *beside: Path, wait: bool = False) -> Iterator[None]:
    """Lock the file and those beside it against other writers while the block runs, and remove leftovers of killed writers.

    Another writer is waited for, or refused.
    """
    with _locked(path.with_name(f".{path.name}.lock"), path, wait=wait):
        for written in (path, *beside):
            remove_parts(written.parent, written.name)
        yield


@contextmanager
def _locked(path: Path, what: Path, *, wait: bool) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{what} is being written by {_owner(path)}: let it end, or choose another --out") from error
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise InputError(f"Cannot write {path}: {reason_of(error)}") from error
    try:
        with suppress(OSError):  # a full disk: the number is only for a message
            path.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        _remove_silently(path)  # before the lock is let go: whoever waits for this file sees that it is gone
        lock.release()


def _owner(lock: Path) -> str:
    """The process that holds a lock."""
    number = ""
    with suppress(OSError):
        number = lock.read_text(encoding="ascii", errors="replace")[:20].strip()
    return f"process {number}" if number.isdigit() else "another process"


# Arrays and weights: `.npz` and `.safetensors` files with JSON facts, read without pickle, and only if every array is what it must be.


Arrays: TypeAlias = "dict[str, npt.NDArray[Any]]"

RESTART = ": start anew without resuming"

_FACTS = "facts"
_TYPES = {"b": ("b1",), "i": ("i1", "i2", "i4", "i8"), "u": ("u1", "u8"), "f": ("f4", "f8")}
_LARGEST = 2**53
_LARGEST_UNPACKED = 1 << 30  # bytes


def save_arrays(
    path: Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Any = None, *, compress: bool = False
) -> None:
    """Write arrays to an `.npz` file, whole or not at all, with any JSON facts about them and their names."""
    import numpy as np  # not for the help of a command, which comes here too

    stored = dict(arrays)
    if facts is not None:
        stored[_FACTS] = np.array(json.dumps([sorted(arrays), facts], sort_keys=True))
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, **stored)  # type: ignore[arg-type]
    write_bytes(path, buffer.getbuffer())


def load_arrays(
    path: Path,
    kinds: Mapping[str, str] | None = None,
    *,
    optional: Mapping[str, str] | None = None,
    compressed: bool = False,
    advice: str = RESTART,
) -> tuple[Arrays, Any]:
    """The arrays and facts of an `.npz` file written by `save_arrays`; None where there are no facts.

    `kinds` has the kind (`b`, `i`, `u`, `f` or text, `U`) and the number of axes of every array: `u1`, `f2`; None accepts any numbers, if the file
    has facts. `optional` is the same for arrays that may be missing. A `compressed` file may unpack to more than its size.
    """
    import numpy as np

    with refusing_damage(path, advice):
        contents = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            require(size <= (_LARGEST_UNPACKED if compressed else len(contents)), "it unpacks to more than its size")
        with np.load(io.BytesIO(contents), allow_pickle=False) as stored:
            arrays = dict(stored)
        facts = None
        if _FACTS in arrays or kinds is None:
            text = arrays.pop(_FACTS)
            _check(_FACTS, text, "U0")
            names, facts = json.loads(str(text))
            require(names == sorted(arrays), "some arrays are missing")
        expected = dict.fromkeys(arrays, "") if kinds is None else kinds
        for name, kind in {**expected, **(optional or {})}.items():
            if name in expected or name in arrays:
                _check(name, arrays[name], kind)
        return arrays, facts


def check_same_facts(path: Path, theirs: Any, ours: Any) -> None:
    """Refuse to go on from a file that was made with other parameters, models or data."""
    if theirs != json.loads(json.dumps(ours)):
        raise InputError(f"{path} was made with other parameters, models or data{RESTART}")


@contextmanager
def refusing_damage(path: Path, advice: str = RESTART) -> Iterator[None]:
    """Any error while the block reads a file becomes one line that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    except Exception as error:  # numpy and zipfile raise many kinds for damaged files
        raise InputError(f"{path} is damaged ({type(error).__name__}){advice}") from error


def check_pointers(ptr: npt.NDArray[np.int64], num_runs: int, total: int) -> None:
    """Refuse pointers that do not cut `total` rows into `num_runs` runs."""
    ends = len(ptr) == num_runs + 1 and ptr[0] == 0 and ptr[-1] == total
    require(ends and not (ptr[1:] < ptr[:-1]).any(), "pointers must increase from 0 to the number of rows")


def require(condition: bool | np.bool_, rule: str) -> None:
    """Refuse a file that breaks a rule."""
    if not condition:
        raise ValueError(rule)


def _check(name: str, array: npt.NDArray[Any], kind: str) -> None:
    letter = array.dtype.kind
    known = array.dtype.isnative and array.dtype.str[1:] in _TYPES.get(letter, ())
    require(known or (letter == "U" and kind == "U0"), f"{name} is of another type")
    require(kind in ("", f"{letter}{array.ndim}"), f"{name} is of another kind")
    if letter == "f":  # which NaN is not either
        require((abs(array) < _LARGEST).all(), f"{name} must be finite and below 2**53, so that squares are too")
    if letter == "i" and array.size:
        require(max(-int(array.min()), int(array.max())) < _LARGEST, f"{name} must be below 2**53")


# Weights: a safetensors file and a JSON file of facts beside it.

M = TypeVar("M", bound="nn.Module")

_CHECKSUM = "sha256"
_NUMBERS = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
_LARGEST_WEIGHT = 1e9  # larger ones are damage, and a few of them overflow


def facts_path(path: Path) -> Path:
    """The JSON file beside a weights file."""
    return path.with_suffix(".json")


def check_output(path: Path) -> None:
    """Refuse an output file that weights cannot be written to, before any work is done."""
    if path.suffix != ".safetensors":
        raise InputError(f"Weights are written to a file that must end in .safetensors (got {path.name!r})")
    if path.is_dir():
        raise InputError(f"Cannot write {path}: it is a folder")
    check_writable(path.parent)


@contextmanager
def writing_weights(path: Path | None) -> Iterator[None]:
    """Lock a weights file against other writers while the block runs; None is no file."""
    if path is None:
        yield
        return
    check_output(path)
    with only_writer_of(path, facts_path(path)):
        yield


def save_weights(path: Path, state: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write weights and the facts about them, each file whole or not at all; the weights come last.

    The path ends in `.safetensors`, the facts go beside it as `.json`, with `kind` as the kind of model. They hold the checksum of the
    weights, so that a reader never takes facts and weights of two different writings.
    """
    import safetensors.torch

    check_output(path)
    contents = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()})
    write_json(facts_path(path), {**facts, _CHECKSUM: hashlib.sha256(contents).hexdigest()})
    write_bytes(path, contents)


def load_weights(path: Path, *, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights and facts written by `save_weights`, which must be of this kind."""
    import safetensors.torch

    facts = read_json(facts_path(path))
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        got = facts.get("kind") if isinstance(facts, dict) else type(facts).__name__
        raise InputError(f"{facts_path(path)} must describe a {kind} (got {got!r})")
    contents = read_bytes(path)
    if _CHECKSUM in facts and hashlib.sha256(contents).hexdigest() != facts[_CHECKSUM]:
        raise InputError(f"{path} is damaged or half replaced: its SHA-256 must be the one in {facts_path(path).name}")
    try:
        return safetensors.torch.load(contents), facts
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error})".splitlines()[0]) from error


def load_model(path: Path, *, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights and facts of a model from a `.safetensors` file; a plain state dict has no facts."""
    return load_weights(path, kind=kind) if path.suffix == ".safetensors" else (load_state(path), {})


def load_torch(path: Path, complaint: str, *known: Any) -> Any:
    """Load a `torch.save` file onto the CPU without unpickling code: tensors, and records of the known classes."""
    import torch

    try:
        with torch.serialization.safe_globals([*known]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    except Exception as error:  # torch raises many kinds for damaged files
        raise InputError(f"{path} {complaint} ({type(error).__name__})") from error


def load_state(path: Path) -> dict[str, Tensor]:
    """A plain PyTorch state dict (`.pt`, `.pth`)."""
    import torch

    state = load_torch(path, "is damaged or not a PyTorch state dict")
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise InputError(f"{path} must hold a state dict of tensors (got {type(state).__name__})")
    for name, tensor in state.items():
        if not _is_plain(tensor):
            raise InputError(
                f"{path} must hold plain tensors with all their numbers (got {name!r:.60}, {tensor.layout})"
            )
    return {str(name): tensor for name, tensor in state.items()}


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is dense and its file holds every number of it, so that a copy is no larger than the file."""
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()


def load_checked(make: Callable[[], M], state: dict[str, Tensor], path: Path, what: str) -> M:
    """A model in evaluation mode with weights whose names, shapes and finiteness are checked.

    Sizes come from the file, so `make` is tried without memory first. `path` and `what` are for errors.
    """
    import torch

    try:
        with torch.device("meta"):
            expected = make().state_dict()
    except InputError as error:
        raise InputError(f"{path} is not a {what}: {error}") from error
    for name, tensor in expected.items():
        if name not in state or state[name].shape != tensor.shape:
            got = tuple(state[name].shape) if name in state else "none"
            raise InputError(f"{path} is not a {what}: {name} must have shape {tuple(tensor.shape)} (got {got})")
    extra = sorted(set(state) - set(expected))
    if extra:
        raise InputError(f"{path} is not a {what}: unknown parameter (got {extra[0]!r})")
    for name, tensor in state.items():
        if (
            str(tensor.dtype).removeprefix("torch.") not in _NUMBERS
            or not (tensor.double().abs() < _LARGEST_WEIGHT).all()
        ):
            raise InputError(
                f"{path} is not a {what}: {name} must hold real numbers below 10**9 (got others, {tensor.dtype})"
            )
        if name.endswith("running_var") and (tensor < 0).any():
            raise InputError(f"{path} is not a {what}: {name} must not be negative (got {tensor.min().item():g})")
    model = make()
    model.load_state_dict(state)
    return model.eval()


def check_alphabet(path: Path, facts: dict[str, Any], num_labels: int, label_names: Sequence[str] | None) -> None:
    """Refuse a model made for another label alphabet than the data's, unless that is None.

    Facts of released checkpoints name no labels, and then only their number is checked.
    """
    if label_names is None:
        return
    if num_labels != len(label_names):
        raise InputError(f"{path} knows {num_labels} node labels, the data must have as many (got {len(label_names)})")
    known = facts.get("label_names")
    if not isinstance(known, list | None):
        raise InputError(f"{facts_path(path)}: label_names must be a list (got {known!r:.60})")
    if known is not None and known != list(label_names):
        raise InputError(
            f"{path} is for labels {_shown(known)}, the data must have the same (got {_shown(label_names)})"
        )


def _shown(names: Sequence[str]) -> str:
    text = ", ".join(map(str, names))
    return text if len(text) <= 60 else text[:60] + "…"
