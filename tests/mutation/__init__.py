"""Mutation testing, by hand: `python -m tests.mutation rlm_secure/rlm/budget.py [--sample N] [--seconds S]`, or `all`.

Changes one small thing at a time in a module, in a process of its own, and runs the tests of the file there. A change
that no test notices survives: either a test is missing, or the change means nothing, and then survivors.py says why. What
tests run in processes of their own is not changed: only tests that use the module itself count.

changes.py makes the changes, collected.py has one session of pytest with a changed module, trial.py tries all changes of
a file.
"""
