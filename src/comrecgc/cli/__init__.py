"""comrecgc.cli."""

from comrecgc.cli.app import main
