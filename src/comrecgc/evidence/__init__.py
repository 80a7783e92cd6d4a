"""comrecgc.evidence."""

from comrecgc.evidence.evaluation import (
    WITNESSES,
    Figure,
    evaluate_run,
    run_judges,
    run_models,
    save_panel,
    save_witnesses,
    witnesses_of,
)
from comrecgc.evidence.other_models import Answer, ModelSummary
from comrecgc.evidence.records import EVIDENCE, ControlEvidence, Evidence, RecourseEvidence
from comrecgc.evidence.run_evidence import load_evidence, run_evidence
