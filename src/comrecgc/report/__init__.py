"""The HTML pages: reports of explanations, comparisons of runs."""

from comrecgc.report.comparison import compare
from comrecgc.report.pages import write_report
