import json
import re

raw_replies = [
    '{"name": "alice", "errors": 3}',
    "```json\n{\"name\": \"bob\", \"errors\": 1,}\n```",
    "Sure! Here it is: {'name': 'carol', 'errors': 0}",
    "I could not find anything.",
    '[{"name": "dave", "errors": null}]',
]


def repair(text: str):
    candidates = [text]
    if fenced := re.search(r"```(?:json)?\n(.*?)\n```", text, re.DOTALL):
        candidates.append(fenced.group(1))
    if braces := re.search(r"\{.*\}|\[.*\]", text, re.DOTALL):
        candidates.append(braces.group(0))
        candidates.append(re.sub(r",\s*([}\]])", r"\1", braces.group(0)))
        candidates.append(braces.group(0).replace("'", '"'))
    last_error = None
    for candidate in candidates:
        try:
            return json.loads(candidate)
        except ValueError as error:
            last_error = error
    raise ValueError(f"no JSON in {text[:20]!r}") from last_error


for raw in raw_replies:
    try:
        value = repair(raw)
    except ValueError as e:
        cause = e.__cause__
        print(f"FAILED {e} (because of {type(cause).__name__}: {cause.msg})")
    else:
        print(type(value).__name__, value)
