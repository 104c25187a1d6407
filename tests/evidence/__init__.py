"""One dated report on this machine and this commit, for whoever has to file one: `make evidence`.

sections.py is the table of what it asks, and of how each answer is read; run.py runs a command in a process of its own;
page.py and schema.json are the two forms of the report. Nothing is taken from an earlier run, except the recorded
mutants, which say of which text they are.
"""
