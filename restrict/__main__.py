"""``python -m restrict``: the command line."""

from restrict.cli.entry import main

main()
