from collections import defaultdict
import json
import re

findings = defaultdict(lambda: defaultdict(set))
for line in context.splitlines():
    m = re.search(r"\[(?P<module>[\w.]+)\].*user=(?P<user>\w+) action=(?P<action>\w+) status=(?P<status>\d+)", line)
    if m and m["status"] == "500":
        findings[m["user"]][m["module"]].add(m["action"])

plain = {user: {module: sorted(actions) for module, actions in sorted(modules.items())} for user, modules in sorted(findings.items())}
print(json.dumps(plain, indent=2)[:400])
worst = max(plain, key=lambda u: (sum(map(len, plain[u].values())), u))
print(worst, sum(map(len, plain[worst].values())))
answer["content"] = worst
