"""Certificate and refutation files, and the check from Python."""
