"""comrecgc.algorithms.rules."""
