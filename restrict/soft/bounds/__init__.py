"""Certified sets of activations and of their changes, layer by layer, rounded outward: what several layers need."""
