"""Exact optima, explanations, sensitivity: what SAT and enumeration can decide."""
