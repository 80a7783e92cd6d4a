"""comrecgc.algorithms."""
