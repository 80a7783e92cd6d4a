"""Graphs, changes and rules as SVG pictures."""

from comrecgc.drawing.layout import Point, depict, layout_change
from comrecgc.drawing.pen import STYLE, Pen, Picture, induced_subgraph
from comrecgc.drawing.rules import draw_rule
