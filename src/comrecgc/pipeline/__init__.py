"""The steps of an explanation: settings, inputs, candidates and choice of vectors, verification, assembly."""

from comrecgc.pipeline.application import apply_recourses
from comrecgc.pipeline.assembly import assemble, explain_recourses, run_figures
from comrecgc.pipeline.catalogue import CataloguedRule, catalogue_of
from comrecgc.pipeline.census import (
    BLOCK_FILES,
    CENSUS,
    Population,
    Shard,
    Whole,
    first_sample,
    merged_blocks,
    num_blocks_of,
    population_of,
)
from comrecgc.pipeline.clock import Clock
from comrecgc.pipeline.failures import Failure, failures_of
from comrecgc.pipeline.finding import Found, ObtainEmbedder, find_recourses
from comrecgc.pipeline.inputs import (
    Graphs,
    ModelPair,
    Progress,
    RejectPlace,
    Rejects,
    Scores,
    as_dataset,
    over_labels_of,
    with_label_names,
)
from comrecgc.pipeline.mined_rules import MinedRules, mine_rules, stored_rules
from comrecgc.pipeline.panels import ObtainPanel, agreement_source, panel_source
from comrecgc.pipeline.rule_application import apply_rules
from comrecgc.pipeline.rule_chooser import RULES, RuleChooser
from comrecgc.pipeline.rules import explain_rules, table_notes
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import PRESETS, PROBLEMS, SELECTIONS, ResolvedSettings, Settings
from comrecgc.pipeline.stored import (
    StoredChooser,
    load_explanation,
    rule_chooser,
    stored_rejects,
    stored_settings,
    stored_wishes,
)
from comrecgc.pipeline.vectors import Candidates, Chosen, choose_recourses, find_candidates, one_edit_length
from comrecgc.pipeline.verification import Verified, distances, verify

__all__ = [
    "BLOCK_FILES",
    "CENSUS",
    "PRESETS",
    "PROBLEMS",
    "RULES",
    "SELECTIONS",
    "Candidates",
    "CataloguedRule",
    "Chosen",
    "Clock",
    "Failure",
    "Found",
    "Graphs",
    "Judges",
    "MinedRules",
    "ModelPair",
    "ObtainEmbedder",
    "ObtainPanel",
    "Population",
    "Progress",
    "RejectPlace",
    "Rejects",
    "ResolvedSettings",
    "RuleChooser",
    "Scores",
    "Settings",
    "Shard",
    "StoredChooser",
    "Verified",
    "Whole",
    "agreement_source",
    "apply_recourses",
    "apply_rules",
    "as_dataset",
    "assemble",
    "catalogue_of",
    "choose_recourses",
    "distances",
    "explain_recourses",
    "explain_rules",
    "failures_of",
    "find_candidates",
    "find_recourses",
    "first_sample",
    "load_explanation",
    "merged_blocks",
    "mine_rules",
    "num_blocks_of",
    "one_edit_length",
    "over_labels_of",
    "panel_source",
    "population_of",
    "rule_chooser",
    "run_figures",
    "stored_rejects",
    "stored_rules",
    "stored_settings",
    "stored_wishes",
    "table_notes",
    "verify",
    "with_label_names",
]
