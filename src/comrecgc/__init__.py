"""Global counterfactual explanations of graph neural networks through common recourse.

All public names are here. Each is imported when it is first used, so that `import comrecgc` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comrecgc.algorithms.base import VectorChoice
    from comrecgc.algorithms.registry import (
        CFF,
        CFGNNExplainer,
        DatasetCounterfactuals,
        GCFExplainer,
        GCFNearest,
        LocalWalk,
        PaperWalk,
        PublishedWalk,
        RCExplainer,
        Rules,
        Vectors,
    )
    from comrecgc.data import Goal, GraphDataset, from_pyg, load_dataset
    from comrecgc.errors import InputError
    from comrecgc.explainer import CommonRecourseExplainer
    from comrecgc.explanation import CommonRecourse, Explanation
    from comrecgc.graphs import AllOf, AllowKinds, FreezeNodes, Graph, KeepConnected
    from comrecgc.models import (
        ClassifierTraining,
        EmbedderTraining,
        PanelTraining,
        as_classifier,
        load_classifier,
        load_embedder,
        train_classifier,
        train_embedder,
    )
    from comrecgc.molecules import Valence
    from comrecgc.report import compare, write_report
    from comrecgc.run import RunContext
    from comrecgc.runs import Run, open_run

__version__ = "0.1.0"

_PACKAGES = {
    "algorithms.base": "VectorChoice",
    "algorithms.registry": "CFF CFGNNExplainer DatasetCounterfactuals GCFExplainer GCFNearest LocalWalk PaperWalk PublishedWalk RCExplainer Rules Vectors",
    "models": "ClassifierTraining EmbedderTraining PanelTraining as_classifier load_classifier load_embedder train_classifier train_embedder",
    "data": "Goal GraphDataset from_pyg load_dataset",
    "errors": "InputError",
    "explainer": "CommonRecourseExplainer",
    "explanation": "CommonRecourse Explanation",
    "graphs": "AllOf AllowKinds FreezeNodes Graph KeepConnected",
    "molecules": "Valence",
    "report": "compare write_report",
    "run": "RunContext",
    "runs": "Run open_run",
}
_HOME = {name: package for package, names in _PACKAGES.items() for name in names.split()}

__all__ = [
    "CFF", "AllOf", "AllowKinds", "CFGNNExplainer", "ClassifierTraining", "CommonRecourse",
    "CommonRecourseExplainer", "DatasetCounterfactuals", "EmbedderTraining", "Explanation", "FreezeNodes",
    "GCFExplainer", "GCFNearest", "Goal", "Graph", "GraphDataset", "InputError", "KeepConnected", "LocalWalk",
    "PanelTraining", "PaperWalk", "PublishedWalk", "RCExplainer", "Rules", "Run", "RunContext", "Valence",
    "VectorChoice", "Vectors", "__version__", "as_classifier", "compare", "from_pyg", "load_classifier", "load_dataset",
    "load_embedder", "open_run", "train_classifier", "train_embedder", "write_report",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
