"""comrecgc.report."""

from comrecgc.report.comparison import compare
from comrecgc.report.page import write_report
