"""c-transformers (Hahn 2020, Definition 3): activations, evaluation, collapse, and the cubes that force a value."""
