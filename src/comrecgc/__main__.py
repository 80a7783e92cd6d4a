"""`python -m comrecgc` is the command line."""

from comrecgc.cli import main

if __name__ == "__main__":
    main()
