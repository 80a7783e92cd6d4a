"""The walk of the paper's text."""
