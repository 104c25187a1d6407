# I have all I need; let me build the answer dict and check that it has the required shape.
from typing import Any
import json


def check(value: Any, schema: dict[str, Any], path: str = "$") -> list[str]:
    problems: list[str] = []
    for key, kind in schema.items():
        here = f"{path}.{key}"
        if key not in value:
            problems.append(f"{here} is missing")
        elif isinstance(kind, dict):
            problems.extend(check(value[key], kind, here))
        elif not isinstance(value[key], kind):
            names = kind.__name__ if isinstance(kind, type) else " | ".join(k.__name__ for k in kind)
            problems.append(f"{here} is {type(value[key]).__name__}, not {names}")
    return problems


result = {
    "title": context.splitlines()[0].lstrip("# "),
    "counts": {"lines": len(context.splitlines()), "errors": context.count("ERROR")},
    "ratio": "0.5",
    "complete": True,
}
schema = {"title": str, "counts": {"lines": int, "errors": int, "warnings": int}, "ratio": (int, float), "complete": bool}
for problem in check(result, schema) or ["no problems"]:
    print(problem)
result["ratio"] = float(result["ratio"])
result["counts"]["warnings"] = context.count("WARNING")
print(check(result, schema))
answer["content"] = json.dumps(result, indent=2, sort_keys=True)
answer["ready"] = False
print(answer["content"])
