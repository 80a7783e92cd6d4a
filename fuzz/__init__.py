"""Hostile files against every reader: `python fuzz/run.py TARGET --seconds 60`, see docs/guarantees.md."""
