"""Global counterfactual explanations of graph neural networks through common recourse.

Everything a user needs is here; each name is imported when it is first used, so that `import comrecgc` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comrecgc.data import GraphDataset, from_pyg, load_dataset
    from comrecgc.errors import InputError
    from comrecgc.explainer import CommonRecourseExplainer, explain
    from comrecgc.explanation import CommonRecourse, Explanation, load_explanation
    from comrecgc.graphs import AllOf, AllowKinds, FreezeNodes, Graph, KeepConnected, MaxSize
    from comrecgc.models import (
        ClassifierTraining,
        EmbedderTraining,
        as_classifier,
        load_classifier,
        load_embedder,
        train_classifier,
        train_embedder,
    )
    from comrecgc.molecules import Valence
    from comrecgc.report import compare, write_report

__version__ = "0.1.0"

__all__ = [
    "AllOf",
    "AllowKinds",
    "ClassifierTraining",
    "CommonRecourse",
    "CommonRecourseExplainer",
    "EmbedderTraining",
    "Explanation",
    "FreezeNodes",
    "Graph",
    "GraphDataset",
    "InputError",
    "KeepConnected",
    "MaxSize",
    "Valence",
    "__version__",
    "as_classifier",
    "compare",
    "explain",
    "from_pyg",
    "load_classifier",
    "load_dataset",
    "load_embedder",
    "load_explanation",
    "train_classifier",
    "train_embedder",
    "write_report",
]

_PACKAGES = {
    "models": (
        "ClassifierTraining",
        "as_classifier",
        "load_classifier",
        "train_classifier",
        "EmbedderTraining",
        "load_embedder",
        "train_embedder",
    ),
    "data": ("GraphDataset", "from_pyg", "load_dataset"),
    "errors": ("InputError",),
    "explainer": ("CommonRecourseExplainer", "explain"),
    "explanation": ("CommonRecourse", "Explanation", "load_explanation"),
    "graphs": ("AllOf", "AllowKinds", "FreezeNodes", "Graph", "KeepConnected", "MaxSize"),
    "molecules": ("Valence",),
    "report": ("compare", "write_report"),
}
_HOME = {name: package for package, names in _PACKAGES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
