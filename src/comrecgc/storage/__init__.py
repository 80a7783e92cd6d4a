"""What is on disk: files written whole or not at all, arrays and weights without pickle, one writer at a time."""

from comrecgc.storage.arrays import (
    Arrays,
    check_pointers,
    check_same_facts,
    load_arrays,
    refusing_damage,
    require,
    save_arrays,
)
from comrecgc.storage.files import (
    check_writable,
    read_json,
    reason_of,
    remove_parts,
    write_atomically,
    write_json,
    write_text,
)
from comrecgc.storage.locks import FOLDER_LOCK, only_writer_in, only_writer_of
from comrecgc.storage.weights import (
    check_alphabet,
    check_output,
    facts_path,
    load_checked,
    load_state,
    load_weights,
    save_weights,
)

__all__ = [
    "FOLDER_LOCK",
    "Arrays",
    "check_alphabet",
    "check_output",
    "check_pointers",
    "check_same_facts",
    "check_writable",
    "facts_path",
    "load_arrays",
    "load_checked",
    "load_state",
    "load_weights",
    "only_writer_in",
    "only_writer_of",
    "read_json",
    "reason_of",
    "refusing_damage",
    "remove_parts",
    "require",
    "save_arrays",
    "save_weights",
    "write_atomically",
    "write_json",
    "write_text",
]
