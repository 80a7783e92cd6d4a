"""comrecgc.algorithms.paper."""
