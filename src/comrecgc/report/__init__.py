"""An explanation for people: before-and-after drawings, one self-contained HTML page; runs side by side."""

from comrecgc.report.comparison import Comparison, compare
from comrecgc.report.page import render_report, write_report

__all__ = ["Comparison", "compare", "render_report", "write_report"]
