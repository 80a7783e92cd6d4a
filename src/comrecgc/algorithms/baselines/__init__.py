"""comrecgc.algorithms.baselines."""
