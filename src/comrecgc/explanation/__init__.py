"""comrecgc.explanation."""

from comrecgc.explanation.assembly import VerifiedCounterfactual, explain_nothing, stamped
from comrecgc.explanation.document import encode_graph
from comrecgc.explanation.effects import NUMBERS, effect_words, number_facts, stored_goal
from comrecgc.explanation.explanation import Explanation, Origin
from comrecgc.explanation.folder import csv_text, molecule_rows
from comrecgc.explanation.records import CommonRecourse, CoveredInput, json_values
from comrecgc.explanation.rules import (
    catalogue_of,
    choose_rules,
    count_chosen,
    explain_rules,
    failures_of,
    position_words,
    table_notes,
    wishes_of,
)
from comrecgc.explanation.stored import (
    RULES,
    RuleChooser,
    apply_recourses,
    load_explanation,
    rule_chooser,
    stored_rejects,
    stored_task,
    stored_wishes,
)
from comrecgc.explanation.trust import trust_in
from comrecgc.explanation.vectors import Verified, distances, explain_recourses, run_figures

__all__ = [
    "NUMBERS", "RULES", "CommonRecourse", "CoveredInput", "Explanation", "Origin", "RuleChooser", "Verified",
    "VerifiedCounterfactual", "apply_recourses", "catalogue_of", "choose_rules", "count_chosen", "csv_text",
    "distances", "effect_words", "encode_graph", "explain_nothing", "explain_recourses", "explain_rules",
    "failures_of", "json_values", "load_explanation", "molecule_rows", "number_facts", "position_words",
    "rule_chooser", "run_figures", "stamped", "stored_goal", "stored_rejects", "stored_task", "stored_wishes",
    "table_notes", "trust_in", "wishes_of",
]  # fmt: skip
