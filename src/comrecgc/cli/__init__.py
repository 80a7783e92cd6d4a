"""The command line: `comrecgc …`, one file a group of commands."""

from comrecgc.cli import baseline, compare, demo, explain, inspect, merge, reproduce, train  # noqa: F401  each adds its commands
from comrecgc.cli.app import app, main

__all__ = ["app", "main"]
