"""Soft restrictions: few tokens are fixed, and all the others together hardly move the output."""
