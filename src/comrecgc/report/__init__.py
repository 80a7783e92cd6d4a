"""An explanation for people: before-and-after drawings, one self-contained HTML page."""

from comrecgc.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
