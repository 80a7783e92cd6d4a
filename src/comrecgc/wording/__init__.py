"""comrecgc.wording."""

from comrecgc.wording.rules import RuleAt, describe_group, describe_rules
from comrecgc.wording.words import Words, describe_path, describe_recourse, pattern_of, representatives
