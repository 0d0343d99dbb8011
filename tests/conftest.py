"""Hypothesis profiles: every run draws the same examples, so that a failure here is a failure everywhere."""

import os

from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
