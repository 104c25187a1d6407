"""Ours and other sandboxes, the same work in turns: `make bench-peers`, or `python -m benchmarks.peers --help`.

    versions.toml   what each peer's environment is made of, pinned
    build.py        makes the environments, in a folder outside of this tree
    adapters/       one file and one class for each peer: how it is opened, fed and closed
    host.py         the program that runs an adapter in its peer's own interpreter and answers in lines of JSON
    driver.py       starts those programs, gives them their turns and bounds them in time
    probes.py       what the containment row tries; plant.py stands beside it in an arena and sees what was reached
    snippets.py     what the compatibility row runs
    report.py       writes benchmarks/RESULTS.md and its plots
"""
