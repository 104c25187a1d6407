"""One session: the worker that runs cells, its REPL names, output, values and contexts. Hostile after one cell."""
