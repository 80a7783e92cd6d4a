"""Every figure of a run again, from scratch; and reasons to believe it or not."""

from comrecgc.evidence.evaluation import WITNESSES, Figure, evaluate_run, save_witnesses, witnesses_of
from comrecgc.evidence.gathering import load_evidence, run_evidence
from comrecgc.evidence.other_models import Answer, ModelSummary
from comrecgc.evidence.subject import run_models, run_plausibility, save_panel
from comrecgc.evidence.verdict import EVIDENCE, ControlEvidence, Evidence, RecourseEvidence
