"""comrecgc.wording."""

from comrecgc.wording.recourses import Words, describe_path, describe_recourse, pattern_of, representatives
from comrecgc.wording.rules import RuleAt, describe_group, describe_rules
