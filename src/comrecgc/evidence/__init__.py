"""Every figure of a run again, from scratch; and reasons to believe it or not."""

from comrecgc.evidence.evaluation import (
    WITNESSES,
    Figure,
    evaluate_run,
    run_models,
    run_plausibility,
    save_witnesses,
    witnesses_of,
)
from comrecgc.evidence.gathering import load_evidence, run_evidence
from comrecgc.evidence.verdict import EVIDENCE, Answer, ControlEvidence, Evidence, ModelSummary, RecourseEvidence
