"""Answers are run: what is about to be printed or written is tried on the concrete model first. A trial is the ordinary
forward evaluation (:mod:`restrict.model.trace`), which shares nothing with abstract runs, automata and SAT. It proves
nothing; where it contradicts an answer, that answer is wrong, and the command ends with exit 1 and a file for the
report."""
