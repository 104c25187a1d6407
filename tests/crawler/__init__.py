"""What a cell can reach by calling everything with objects whose every hook is the cell's own.

`python -m tests.crawler --help`. kinds.py says what no cell may hold, recorders.py makes the objects, engine.py calls,
replay.py turns a finding into a short cell, programs.py writes whole cells at random. test_crawler.py is the part of CI.
"""

#: The versions of Python that CI crawls. `requires-python` ends after the last: a new Python brings new methods
#: (ForwardRef.evaluate is public in 3.14), and is allowed once the crawler and the fuzzer find nothing on it.
VERSIONS = ((3, 11), (3, 12), (3, 13))
