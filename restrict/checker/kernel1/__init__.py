"""The kernel that only checks: a proof with every hint written down, about a program in normal form.

``kernel``   Theorem K of docs/kernel.md: what is known, and the rule of each line
``tree``     no few positions conflict with every box of a lower bound
``program``  reads `restrict-program/1`, and evaluates its code
``proof``    reads `restrict-kernel/1`, line by line, for the kernel
``lower``    a `restrict-model/1` at one length as a program
``claims``   what a user's file claims, compared with what a proof concludes

The two formats are defined in docs/kernel-format.md. ``lower`` and ``claims`` use the checker's readers; the others
need nothing of it but its account of work and memory.
"""
