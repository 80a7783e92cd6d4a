"""Edits and rules in words: what they do, to what, and what the members of a recourse share."""

from comrecgc.wording.patterns import Pattern, describe_path, pattern_of
from comrecgc.wording.rules import describe_group, describe_rule
from comrecgc.wording.words import Words, describe_recourse, representatives

__all__ = [
    "Pattern",
    "Words",
    "describe_group",
    "describe_path",
    "describe_recourse",
    "describe_rule",
    "pattern_of",
    "representatives",
]
