"""``python -m restrict.cli``."""

from restrict.cli.main import main

main()
