"""All compiled code: plain functions of arrays, in modules that are imported, and compiled, only when one is used.

Write `from comrecgc import kernels` and call `kernels.vectors.distance(…)`: importing this package does not import numba.
Nothing here knows of graphs as objects, models or settings.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from comrecgc.kernels import (
        batches,
        changing,
        classifier,
        composition,
        edge_weights,
        edit_distance,
        edited_colours,
        edits,
        enumeration,
        greed,
        identity,
        incremental,
        matching,
        neighbourhood,
        relaxation,
        rows,
        surroundings,
        text,
        training,
        tree,
        vectors,
        wide_contexts,
    )

__all__ = [
    "batches",
    "changing",
    "classifier",
    "composition",
    "edge_weights",
    "edit_distance",
    "edited_colours",
    "edits",
    "enumeration",
    "greed",
    "identity",
    "incremental",
    "matching",
    "neighbourhood",
    "relaxation",
    "rows",
    "surroundings",
    "text",
    "training",
    "tree",
    "vectors",
    "wide_contexts",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"comrecgc.kernels has no module {name!r}")
    return import_module(f"comrecgc.kernels.{name}")
