"""`python -m flyannot` is the command `flyannot`."""

from flyannot.cli import main

main()
