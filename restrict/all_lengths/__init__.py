"""All lengths at once: from an order-only program to its bimachine and automaton, and back (docs/all-lengths.md)."""
