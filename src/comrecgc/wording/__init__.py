"""Rules and vector recourses in English sentences."""

from comrecgc.wording.english import Words, describe_path, describe_recourse, edit_pattern, representatives
from comrecgc.wording.rules import RuleAt, describe_group, describe_rules
