"""Softmax models as data: the record and its shapes, files (`restrict-soft/1`), known models, evaluation in floats."""
