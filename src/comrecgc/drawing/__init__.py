"""comrecgc.drawing."""

from comrecgc.drawing.pen import STYLE, Pen, Picture, induced
from comrecgc.drawing.rules import draw_rule
