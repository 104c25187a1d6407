from collections import deque

plan = deque([
    ("measure", {}),
    ("search", {"word": "timeout"}),
    ("search", {"word": "logout"}),
    ("ask", {"question": "Which user has the most timeouts?"}),
    ("fly", {}),
])
memory = {}


def measure():
    return {"chars": len(context), "lines": context.count("\n") + 1}


def search(word):
    hits = [i for i, line in enumerate(context.splitlines()) if word in line]
    if len(hits) > 50:
        plan.appendleft(("note", {"text": f"{word!r} is too common"}))
    return {"hits": len(hits), "first": hits[0] if hits else None}


def ask(question):
    lines = [l for l in context.splitlines() if "timeout" in l][:5]
    return {"reply": llm_query(question + "\n" + "\n".join(lines))}


def note(text):
    return {"note": text}


TOOLS = {f.__name__: f for f in (measure, search, ask, note)}
step = 0
while plan:
    step += 1
    name, arguments = plan.popleft()
    tool = TOOLS.get(name)
    outcome = tool(**arguments) if tool else {"error": f"no tool {name}"}
    memory[f"{step}:{name}"] = outcome
    print(step, name, arguments or "", "->", outcome)
print(list(memory))
