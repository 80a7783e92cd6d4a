"""The command line. Importing a module of commands registers them with the application."""

from comrecgc.cli import explain, inspect, train
from comrecgc.cli.app import main
