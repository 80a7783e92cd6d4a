"""`python -m comrecgc` is the command line."""

from __future__ import annotations

from comrecgc.cli import main

if __name__ == "__main__":
    main()
