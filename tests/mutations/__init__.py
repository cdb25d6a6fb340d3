"""Whether the tests notice: one mistake at a time is put into a copy of the code.

    python -m tests.mutations             # all, hours on 2 cores
    python -m tests.mutations rules heads # of these rooms
    python -m tests.mutations scripts --of prune_heads

Prints by each mistake the first test that noticed it, and the share that was noticed, by room. Of a
room's tests those run that name the module with the mistake, so others may notice more. First all
of them run without a mistake, and have to pass. Not in CI; there tests/mutations/test_mutations.py
only sees to it that each mistake can still be made. Mistakes are of the kinds that matter to a
scientist: another file, another formula, a constant, a seed, a bound.
"""
