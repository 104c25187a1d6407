import json


def from_model(question):
    reply = llm_query(question)
    return json.loads(reply)["answer"]


def from_regex(question):
    import re
    m = re.search(r"replaced\s+on the (\w+) day", context.replace("\n", " "))
    if m is None:
        raise LookupError("no match")
    return m[1]


def from_default(question):
    return "unknown"


def first_that_works(question, *functions):
    failures = {}
    for f in functions:
        try:
            result = f(question)
        except (json.JSONDecodeError, LookupError, TypeError) as e:
            failures[f.__name__] = f"{type(e).__name__}"
            continue
        except Exception as e:
            failures[f.__name__] = f"unexpected {e!r}"
            raise
        else:
            return result, failures
    raise RuntimeError(f"all {len(functions)} ways failed", failures)


print(first_that_works("On which day was the cache replaced?", from_model, from_regex, from_default))
print(first_that_works("?", from_default))
try:
    first_that_works("Why?", from_model)
except RuntimeError as e:
    message, failures = e.args
    print(message, failures)
try:
    first_that_works("x", lambda q: 1 / 0)
except ZeroDivisionError as e:
    print("passed on:", e)
