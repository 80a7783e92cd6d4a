"""An explanation for people: before-and-after drawings, one self-contained HTML page; runs side by side."""

from comrecgc.report.comparison import Comparison, compare
from comrecgc.report.page import render_report, write_report
from comrecgc.report.rule_picture import draw_rule

__all__ = ["Comparison", "compare", "draw_rule", "render_report", "write_report"]
