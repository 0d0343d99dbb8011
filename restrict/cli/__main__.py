"""``python -m restrict.cli``."""

from restrict.cli.entry import main

main()
