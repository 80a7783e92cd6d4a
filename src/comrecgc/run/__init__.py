"""comrecgc.run."""

from comrecgc.run.arrays import (
    Arrays,
    check_alphabet,
    check_output,
    check_pointers,
    check_same_facts,
    facts_path,
    load_arrays,
    load_checked,
    load_state,
    load_weights,
    refusing_damage,
    require,
    save_arrays,
    save_weights,
)
from comrecgc.run.context import Clock, RunContext, available_cores, one_thread, peak_memory, reproducible, versions
from comrecgc.run.engine import Engine, LocalEngine, engine_of
from comrecgc.run.files import (
    FOLDER_LOCK,
    check_writable,
    only_writer_in,
    only_writer_of,
    read_json,
    reason_of,
    remove_parts,
    write_atomically,
    write_json,
    write_text,
)
from comrecgc.terminal import Progress
