# Quick sanity check of what I have before I go on.
things = {"context": context, "ask": llm_query, "batch": llm_query_batched, "answer": answer, "n": 3, "x": 2.5, "none": None}
for name, thing in things.items():
    kind = type(thing).__name__
    size = len(thing) if hasattr(thing, "__len__") else "-"
    print(f"{name:<8}{kind:<10}{callable(thing)!s:<6}{size}")
print(isinstance(context, str), isinstance(answer, dict), sorted(answer), answer.get("ready"))
print(llm_query.__name__, context.__class__.__name__, answer.__class__ is dict, (3).__class__)
print(context[:20].__class__ == str, type(context) is type(""), type(None), type(type))
