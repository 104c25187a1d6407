import json
import re

reply = llm_query('Return JSON {"count": number} for the number of errors.')
match = re.search(r"\{.*\}", reply, re.DOTALL)
try:
    parsed = json.loads(match.group(0)) if match else {"raw": reply}
except json.JSONDecodeError:
    parsed = {"raw": reply}
print(sorted(parsed))
