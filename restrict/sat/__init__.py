"""Helpers over PySAT."""
