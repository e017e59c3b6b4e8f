"""`python -m coupling_core`: the command line."""

from coupling_core.cli import main

main()
