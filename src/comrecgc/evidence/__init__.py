"""Recomputation of every figure of a run from scratch, and evidence for or against its recourses."""

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
