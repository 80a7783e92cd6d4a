"""Graphs and rules as SVG: before and after, what goes, comes and changes marked by colour and shape."""

from comrecgc.drawing.pen import STYLE, Pen, Picture, induced
from comrecgc.drawing.rules import draw_rule

__all__ = ["STYLE", "Pen", "Picture", "draw_rule", "induced"]
