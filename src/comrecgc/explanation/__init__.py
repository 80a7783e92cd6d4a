"""comrecgc.explanation."""

from comrecgc.explanation.application import apply_recourses
from comrecgc.explanation.assembly import explain_nothing, stamped
from comrecgc.explanation.document import encode_graph
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.failures import failures_of
from comrecgc.explanation.folder import csv_text
from comrecgc.explanation.records import CommonRecourse, CoveredInput, StoredRule, json_values
from comrecgc.explanation.rules import CataloguedRule, catalogue_of, explain_rules, table_notes
from comrecgc.explanation.stored import (
    RULES,
    RuleChooser,
    load_explanation,
    rule_chooser,
    stored_rejects,
    stored_task,
    stored_wishes,
)
from comrecgc.explanation.vectors import explain_recourses, run_figures
from comrecgc.explanation.verification import Verified, distances
