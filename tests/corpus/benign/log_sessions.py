import re
sessions = {}
for line in context.splitlines():
    m = re.search(r"user=(\w+)", line)
    if not m:
        continue
    user = m.group(1)
    session = sessions.setdefault(user, {"events": 0, "actions": set(), "first": None, "last": None})
    session["events"] += 1
    action = re.search(r"action=(\w+)", line)
    if action:
        session["actions"].add(action.group(1))
    stamp = line[:19]
    session["first"] = session["first"] or stamp
    session["last"] = stamp
for user, session in sorted(sessions.items()):
    print(user, session["events"], sorted(session["actions"]), session["first"], session["last"])
