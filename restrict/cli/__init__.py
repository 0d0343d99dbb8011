"""The command line, one file a command; ``entry`` is where a process begins."""
