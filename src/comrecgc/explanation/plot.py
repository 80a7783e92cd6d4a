"""One covered input before and after, and a whole explanation at a glance, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from comrecgc.drawing import Point, depict, layout_change
from comrecgc.errors import InputError
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Scene
from comrecgc.graphs import Change, Graph, edges_by_id, labels_by_id
from comrecgc.molecules import element_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from comrecgc.explanation.explanation import Explanation


REMOVED, ADDED, RELABELLED = "#D55E00", "#0072B2", "#CC79A7"  # told apart with any colour vision
_PLAIN = "#444444"
_MOST_BARS = 15
_LONGEST_WORDS = 48


def plot_explanation(explanation: Explanation) -> Figure:
    """A figure with the coverage curve and, for rules, the success of each with its interval."""
    figure = _new_figure((9, 4))
    successes = [_success(recourse) for recourse in explanation.recourses[:_MOST_BARS]]
    known = [(place, *found) for place, found in enumerate(successes) if found is not None]
    left, *others = figure.subplots(1, 2 if known else 1, squeeze=False)[0]
    shares = [0.0, *explanation.coverage_curve]
    left.plot(range(len(shares)), [100 * share for share in shares], marker="o", color=ADDED)
    left.set_ylim(0, 100)
    left.set_xlabel("rules" if explanation.recourse == "rules" else "recourses")
    left.set_ylabel("covered, %")
    left.set_title(f"{explanation.dataset}: {explanation.coverage:.1%} of {len(explanation.inputs)}", parse_math=False)
    for axes in others:
        for place, share, (low, high) in known:
            axes.plot([100 * low, 100 * high], [place, place], color=_PLAIN, linewidth=2)
            axes.plot([100 * share], [place], marker="o", color=REMOVED)
        axes.set_yticks(range(len(successes)))
        axes.set_yticklabels(
            [_clipped(recourse.summary) for recourse in explanation.recourses[:_MOST_BARS]],
            fontsize=8,
            parse_math=False,
        )
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("success, % (95% interval)")
    return figure


def _success(recourse: CommonRecourse) -> tuple[float, tuple[float, float]] | None:
    known = recourse.statistics or {}
    success, interval = known.get("success"), known.get("interval")
    if not isinstance(success, int | float) or not isinstance(interval, list) or len(interval) != 2:
        return None
    return float(success), (float(interval[0]), float(interval[1]))


def _clipped(words: str) -> str:
    return words if len(words) <= _LONGEST_WORDS else f"{words[: _LONGEST_WORDS - 1]}…"


def _new_figure(size: tuple[float, float]) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plot needs matplotlib: pip install 'comrecgc[notebook]'") from error
    return Figure(figsize=size, layout="constrained")


def plot_change(member: CoveredInput, scene: Scene, title: str = "") -> Figure:
    """A figure with the input on the left and its counterfactual on the right, changes in colour."""
    before, after = scene.inputs[member.input].graph, member.counterfactual
    change = Change.between(before, after)
    start = depict(before, scene.label_names) if scene.is_molecular else None
    positions = layout_change(before, after, start)
    figure = _new_figure((9, 4.5))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    relabelled = dict.fromkeys(change.relabelled, RELABELLED)
    gone, come = dict.fromkeys(change.removed, REMOVED), dict.fromkeys(change.added, ADDED)
    _draw(left, before, positions, scene, relabelled | gone, dict.fromkeys(change.cut, REMOVED))
    _draw(right, after, positions, scene, relabelled | come, dict.fromkeys(change.joined, ADDED))
    left.invert_yaxis()  # the right-hand side shares the axis
    left.set_title(f"input {member.input}, {scene.class_names[0]}", parse_math=False)
    right.set_title(f"{scene.class_names[1]} {member.probability:.0%}, {member.num_edits} edits", parse_math=False)
    figure.suptitle(title, parse_math=False)
    return figure


def _draw(
    axes: Axes,
    graph: Graph,
    positions: Mapping[int, Point],
    scene: Scene,
    node_colours: Mapping[int, str],
    edge_colours: Mapping[tuple[int, int], str],
) -> None:
    for edge in sorted(edges_by_id(graph)):
        (x0, y0), (x1, y1) = positions[edge[0]], positions[edge[1]]
        colour = edge_colours.get(edge, _PLAIN)
        axes.plot([x0, x1], [y0, y1], color=colour, linewidth=1.4 if colour == _PLAIN else 3, zorder=1)
    for node, label in labels_by_id(graph).items():
        x, y = positions[node]
        colour = node_colours.get(node, _PLAIN)
        axes.text(
            x,
            y,
            (element_of(scene.label_names[label]) if scene.is_molecular else scene.label_names[label])[:6],
            color=colour,
            fontsize=9,
            fontweight="normal" if colour == _PLAIN else "bold",
            ha="center",
            va="center",
            zorder=2,
            parse_math=False,
            bbox={
                "boxstyle": "circle,pad=0.15",
                "facecolor": "white",
                "edgecolor": "none" if colour == _PLAIN else colour,
            },
        )
    axes.set_aspect("equal")
    axes.margins(0.1)
    axes.axis("off")
