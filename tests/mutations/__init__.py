"""Whether the tests notice: one mistake at a time is put into a copy of the code.

    python -m tests.mutations             # all, hours on 2 cores
    python -m tests.mutations rules heads # of these rooms
    python -m tests.mutations --jobs 2 scripts

Prints each mistake that no test noticed, and the share that was noticed, by room. Not in CI; there
tests/mutations/test_mutations.py only sees to it that each mistake can still be made. Mistakes are
of the kinds that matter to a scientist: another file, another formula, a constant, a seed, a bound.
"""
