"""Edits in words: functional groups, what a path of edits does to them, and what the members of a recourse share."""

from comrecgc.wording.patterns import Pattern, describe_path, pattern_of
from comrecgc.wording.words import Words, describe_recourse, representatives

__all__ = ["Pattern", "Words", "describe_path", "describe_recourse", "pattern_of", "representatives"]
