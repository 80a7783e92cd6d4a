"""An explanation for people: before-and-after drawings, one self-contained HTML page."""

from comrecgc.report.page import render_report, write_report
from comrecgc.report.rule_picture import draw_rule

__all__ = ["draw_rule", "render_report", "write_report"]
