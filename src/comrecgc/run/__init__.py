"""How a run goes: context, clock, engine (threads, processes, dask); files written whole or not at all, without pickle."""

from comrecgc.run.context import (
    UNLIMITED,
    Clock,
    RunContext,
    available_cores,
    one_thread,
    peak_memory,
    reproducible,
    versions,
)
from comrecgc.run.engine import Engine, LocalEngine
from comrecgc.run.files import (
    FOLDER_LOCK,
    Arrays,
    check_alphabet,
    check_pointers,
    check_same_facts,
    check_writable,
    facts_path,
    load_arrays,
    load_checked,
    load_model,
    load_weights,
    only_writer_in,
    only_writer_of,
    read_bytes,
    read_json,
    reason_of,
    refusing_damage,
    require,
    save_arrays,
    save_weights,
    write_atomically,
    write_bytes,
    write_json,
    write_text,
    writing_weights,
)
from comrecgc.terminal import Progress
