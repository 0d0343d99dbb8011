"""Goal-directed capture: forcing the output at one position."""
