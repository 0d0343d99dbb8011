"""Models to try: built-in programs, hard families, random ones."""
