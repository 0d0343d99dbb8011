"""Softmax models as people train them: a record of weights, and exact verdicts about it over a language.

:mod:`restrict.soft.trained.model` reads a checkpoint; docs/soft-verdicts.md has the theory, the commands and figures.
"""
