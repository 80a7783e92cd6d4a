"""comrecgc.algorithms.vectors."""
