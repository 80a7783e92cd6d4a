"""Rules: changes in a context, the same for every graph; mined, composed, tabulated and chosen."""

from comrecgc.rules.census import Census, Recipes, count_rules
from comrecgc.rules.choice import (
    KINDS,
    MOST_PARTS,
    NUM_SPLITS,
    SLACK,
    HeldOut,
    RuleChoice,
    Wishes,
    choose,
    choose_for_all,
    held_out,
    held_out_success,
    wilson_interval,
)
from comrecgc.rules.composition import Composition
from comrecgc.rules.files import load_table, save_table
from comrecgc.rules.groups import Group
from comrecgc.rules.holders import Holders
from comrecgc.rules.mining import ACCEPTED, Acceptance, Workshop, log_odds
from comrecgc.rules.permission import MolecularPermission, Permission, can_be_carried_out_within
from comrecgc.rules.reading import read_rule, read_rules
from comrecgc.rules.table import RuleTable, tabulate
from comrecgc.rules.vocabulary import Vocabulary

__all__ = [
    "ACCEPTED",
    "KINDS",
    "MOST_PARTS",
    "NUM_SPLITS",
    "SLACK",
    "Acceptance",
    "Census",
    "Composition",
    "Group",
    "HeldOut",
    "Holders",
    "MolecularPermission",
    "Permission",
    "Recipes",
    "RuleChoice",
    "RuleTable",
    "Vocabulary",
    "Wishes",
    "Workshop",
    "can_be_carried_out_within",
    "choose",
    "choose_for_all",
    "count_rules",
    "held_out",
    "held_out_success",
    "load_table",
    "log_odds",
    "read_rule",
    "read_rules",
    "save_table",
    "tabulate",
    "wilson_interval",
]
