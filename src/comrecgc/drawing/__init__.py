"""Graphs, changes and rules as SVG pictures."""

from comrecgc.drawing.pen import STYLE, Pen, depict, induced_subgraph, layout_change
from comrecgc.drawing.rules import draw_rule

__all__ = [
    "STYLE", "Pen", "depict", "draw_rule", "induced_subgraph", "layout_change",
]  # fmt: skip
