"""Edits and rules in words: what they do, to what, and what the members of a recourse share."""

from comrecgc.wording.patterns import Pattern, describe_path, pattern_of
from comrecgc.wording.rules import RuleAt, describe_group, describe_rule, describe_rules
from comrecgc.wording.words import Words, describe_recourse, representatives

__all__ = [
    "Pattern",
    "RuleAt",
    "Words",
    "describe_group",
    "describe_path",
    "describe_recourse",
    "describe_rule",
    "describe_rules",
    "pattern_of",
    "representatives",
]
