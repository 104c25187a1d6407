"""Walk to every class with getattr and names put together at run time.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

under = "_" * 2
kinds = getattr(getattr(getattr((), under + "class" + under), under + "base" + under), under + "subclasses" + under)()
print("WON reached", len(kinds))
for kind in kinds:
    if getattr(kind, under + "name" + under) == "_wrap_close":
        names = getattr(getattr(kind, under + "init" + under), under + "globals" + under)
        print(names[under + "builtins" + under]["open"](TARGET["file"]).read())
