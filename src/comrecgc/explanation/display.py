"""Explanations and recourses as figures of matplotlib, as HTML in notebooks, and as objects of PyG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.drawing import STYLE, Pen, depict, draw_rule, layout_change
from comrecgc.errors import InputError
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Explanation, interval_in, number_in
from comrecgc.explanation.rules import at_least
from comrecgc.graphs import Change, Graph, ordered_edge, to_data
from comrecgc.models import AdaptedClassifier
from comrecgc.molecules import element_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch_geometric.data import Data


REMOVED, ADDED, RELABELLED = "#D55E00", "#0072B2", "#CC79A7"  # told apart with any colour vision
_PLAIN = "#444444"
_MOST_BARS = 15
_LONGEST_WORDS = 48


def plot_explanation(explanation: Explanation) -> Figure:
    """A figure with the coverage curve and, for rules, the success of each with its interval."""
    figure = _new_figure((9, 4))
    shown = explanation.recourses[:_MOST_BARS]
    figures = [(number_in(it.statistics, "success"), interval_in(it.statistics)) for it in shown]
    known = [(place, share, ends) for place, (share, ends) in enumerate(figures) if share is not None and ends]
    left, *others = figure.subplots(1, 2 if known else 1, squeeze=False)[0]
    shares = [0.0, *explanation.coverage_curve]
    left.plot(range(len(shares)), [100 * share for share in shares], marker="o", color=ADDED)
    left.set_ylim(0, 100)
    left.set_xlabel("rules" if explanation.recourse == "rules" else "recourses")
    left.set_ylabel("covered, %")
    left.set_title(
        f"{explanation.schema.dataset}: {explanation.coverage:.1%} of {len(explanation.inputs)}", parse_math=False
    )
    for axes in others:
        for place, share, (low, high) in known:
            axes.plot([100 * low, 100 * high], [place, place], color=_PLAIN, linewidth=2)
            axes.plot([100 * share], [place], marker="o", color=REMOVED)
        axes.set_yticks(range(len(shown)))
        words = [it.summary for it in shown]
        cut = [text if len(text) <= _LONGEST_WORDS else f"{text[: _LONGEST_WORDS - 1]}…" for text in words]
        axes.set_yticklabels(cut, fontsize=8, parse_math=False)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("success, % (95% interval)")
    return figure


def _new_figure(size: tuple[float, float]) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plot needs matplotlib: pip install 'comrecgc[notebook]'") from error

    class ShownFigure(Figure):
        """A figure that a notebook shows as the value of a cell, without `%matplotlib inline`."""

        def _repr_png_(self) -> bytes:
            held = BytesIO()
            self.savefig(held, format="png", dpi=110)
            return held.getvalue()

    return ShownFigure(figsize=size, layout="constrained")


def plot_change(member: CoveredInput, scene: Explanation, title: str = "") -> Figure:
    """A figure with the input on the left and its counterfactual on the right, changes in colour."""
    before, after = scene.inputs[member.input].graph, member.counterfactual
    change = Change.between(before, after)
    start = depict(before, scene.schema.label_names) if scene.schema.is_molecular else None
    positions = layout_change(before, after, start)
    figure = _new_figure((9, 4.5))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    relabelled = dict.fromkeys(change.relabelled, RELABELLED)
    gone, come = dict.fromkeys(change.removed, REMOVED), dict.fromkeys(change.added, ADDED)
    names = [element_of(name) if scene.schema.is_molecular else name for name in scene.schema.label_names]
    box = {"boxstyle": "circle,pad=0.15", "facecolor": "white"}
    for axes, graph, nodes, edges in (
        (left, before, relabelled | gone, dict.fromkeys(change.cut, REMOVED)),
        (right, after, relabelled | come, dict.fromkeys(change.joined, ADDED)),
    ):
        for edge in graph.edges_by_id():
            (x0, y0), (x1, y1) = positions[edge[0]], positions[edge[1]]
            colour = edges.get(edge, _PLAIN)
            axes.plot([x0, x1], [y0, y1], color=colour, linewidth=1.4 if colour == _PLAIN else 3, zorder=1)
        for node, label in graph.labels_by_id().items():
            colour = nodes.get(node, _PLAIN)
            weight, rim = ("normal", "none") if colour == _PLAIN else ("bold", colour)
            style = {"color": colour, "fontsize": 9, "fontweight": weight, "bbox": box | {"edgecolor": rim}}
            axes.text(*positions[node], names[label][:6], ha="center", va="center", zorder=2, parse_math=False, **style)
        axes.set_aspect("equal")
        axes.margins(0.1)
        axes.axis("off")
    left.invert_yaxis()  # the right-hand side shares the axis
    reject, accept = scene.schema.class_names
    left.set_title(f"input {member.input}, {reject}", parse_math=False)
    right.set_title(f"{accept} {member.probability:.0%}, {member.num_edits} edits", parse_math=False)
    figure.suptitle(title, parse_math=False)
    return figure


# HTML in notebooks.


_SHOWN = 10
_DRAWN_NODES = 40  # larger graphs are too wide for a cell


def explanation_html(explanation: Explanation) -> str:
    """The first recourses of an explanation, each with its picture."""
    are_rules = explanation.recourse == "rules"
    names = ["", "what to change", *(("works for", "unseen") if are_rules else ("edits",)), "adds", "covered so far"]
    rows = []
    shares = explanation.coverage_curve
    for place, recourse in enumerate(explanation.recourses[:_SHOWN]):
        known = recourse.statistics
        held_out = known.get("held_out")
        unseen = number_in(held_out, "success") if isinstance(held_out, Mapping) else None
        edits = "–" if recourse.median_edits is None else f"{recourse.median_edits:g}"
        figures = [works_words(known), "–" if unseen is None else f"{unseen:.0%}"] if are_rules else [edits]
        cells = [str(place + 1), None, *figures, str(recourse.gain), f"{shares[place]:.1%}"]
        words = f"{escape(recourse.summary)}<br>{picture_of(recourse)}"
        rows.append("".join(f"<td>{words if cell is None else escape(cell)}</td>" for cell in cells))
    left_out = len(explanation.recourses) - len(rows)
    what = "rules" if are_rules else "common recourses"
    return (
        f"<style>{STYLE}</style><p><b>{escape(explanation.schema.dataset)}</b>: {len(explanation.recourses)} {what} cover "
        f"{explanation.coverage:.1%} of {len(explanation.inputs)} inputs</p><table><thead><tr>"
        + "".join(f"<th>{name}</th>" for name in names)
        + "</tr></thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table>"
        + (f"<p>… and {left_out} more</p>" if left_out else "")
    )


def recourse_html(recourse: CommonRecourse) -> str:
    """One recourse: its sentence, picture and figures, and the smallest input that it covers before and after."""
    known = recourse.statistics
    works = f"<p>Works for {escape(works_words(known))}</p>" if recourse.rule is not None else ""
    example = smallest(recourse)
    drawn = picture_of(recourse) if recourse.rule is not None else ""
    return (
        f"<style>{STYLE}</style><p><b>{escape(recourse.summary)}</b></p>{drawn}<p>{escape(recourse.description)}</p>{works}"
        + ("" if example is None or recourse.scene is None else example_html(example, recourse.scene))
    )


def works_words(known: Mapping[str, Any]) -> str:
    """How often a rule works, with the interval of its success."""
    accepted, applicable, success = (number_in(known, name) for name in ("accepted", "applicable", "success"))
    if accepted is None or applicable is None or success is None:
        return "–"
    ends = interval_in(known)
    between = "" if ends is None else f" ({100 * ends[0]:.0f}–{ends[1]:.0%})"
    return f"{at_least(known)}{accepted:.0f} of {applicable:.0f}, {success:.0%}{between}"


def picture_of(recourse: CommonRecourse) -> str:
    """The picture of a rule, or of the smallest input that a vector covers, before and after; empty if there is neither."""
    scene = recourse.scene
    if scene is None:
        return ""
    if recourse.rule is not None:
        return draw_rule(recourse.rule, scene.schema, title=recourse.summary)
    example = smallest(recourse)
    return "" if example is None else example_html(example, scene)


def smallest(recourse: CommonRecourse) -> CoveredInput | None:
    """The smallest input that a recourse covers, if it is small enough to be drawn."""
    scene = recourse.scene
    if scene is None or not recourse.covered:
        return None
    member = min(recourse.covered, key=lambda member: (scene.inputs[member.input].graph.size, member.input))
    return member if scene.inputs[member.input].graph.num_nodes <= _DRAWN_NODES else None


def example_html(member: CoveredInput, scene: Explanation) -> str:
    """One input before and after as HTML."""
    pen = Pen(scene.schema)
    graph = scene.inputs[member.input].graph
    title = f"Input {member.input}"
    change = Change.between(graph, member.counterfactual) if member.site else Change.along(graph, member.edits)
    drawn = pen.draw_change(change, title)
    return f"<div>{drawn.before} → {drawn.after}</div><p>{title}: {escape(scene.schema.class_names[1])} {member.probability:.0%}</p>"


# Objects of PyG.


def pyg_counterfactual(explanation: Explanation, index: int) -> Data:
    """The counterfactual of an input as PyG `Data`; see `Explanation.counterfactual`."""
    _, member = _covering(explanation, index)
    data = _data(explanation, member.counterfactual)
    if "y" in data:  # the class of the graph before
        del data["y"]
    return data


def _covering(explanation: Explanation, index: int) -> tuple[int, CoveredInput]:
    found = explanation.covering(index)
    if found is None:
        reason = next(entry.reason for entry in explanation.uncovered if entry.input == index)
        raise InputError(f"No recourse covers input {index}: {reason.value}")
    return found


def _data(explanation: Explanation, graph: Graph) -> Data:
    """A graph with the features of the user's data if available, else with one-hot labels."""
    own = None if explanation.origin is None else explanation.origin.attributes
    if own is None or graph.source < 0:
        return to_data(graph, np.eye(len(explanation.schema.label_names), dtype=np.float32))
    data = own.data(graph)
    if "changed" in data:
        del data["changed"]
    return data


def pyg_explanation(explanation: Explanation, index: int) -> Any:
    """The input with masks of what its recourse changes; see `Explanation.to_pyg`."""
    import torch
    from torch_geometric.explain import Explanation as PygExplanation

    place, member = _covering(explanation, index)
    graph, after = explanation.inputs[index].graph, member.counterfactual
    change = Change.between(graph, after)
    old, new = graph.edge_labels_by_id(), after.edge_labels_by_id()
    edges = change.cut | {edge for edge in old.keys() & new.keys() if old[edge] != new[edge]}
    touched = change.touched | {node for edge in edges for node in edge}
    data, origin = _data(explanation, graph), explanation.origin
    if origin is not None and origin.attributes is not None and graph.source >= 0:
        data = origin.attributes.original(graph.source)
    rejected, arguments = explanation.inputs[index].reject_probability, dict[str, Any]()
    prediction, target = torch.tensor([[rejected, 1 - rejected]]), 0
    if origin is not None and isinstance(origin.classifier, AdaptedClassifier):
        prediction, target = origin.classifier.prediction(graph)
        arguments = origin.classifier.further_arguments(data)
    known = {**data.to_dict(), **arguments, "prediction": prediction, "target": torch.tensor([target])}
    known |= {
        "node_mask": torch.tensor([[float(node in touched)] for node in range(int(data.num_nodes or 0))]),
        "edge_mask": torch.tensor([float(ordered_edge(i, j) in edges) for i, j in data.edge_index.T.tolist()]),
        "counterfactual": pyg_counterfactual(explanation, index),
        "recourse": place,
    }
    masked = PygExplanation(**known)
    masked._model_args = list(arguments)  # PyG's metrics read it
    masked.validate()
    return masked
