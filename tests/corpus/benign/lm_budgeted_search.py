MAX_CALLS = 4
calls = 0
findings = []
candidates = sorted(context.splitlines(), key=len, reverse=True)
for line in candidates:
    if calls >= MAX_CALLS:
        break
    if "user=" not in line:
        continue
    findings.append((line[:19], llm_query(f"Is this suspicious? {line}")))
    calls += 1
print(calls, len(findings))
for stamp, verdict in findings:
    print(stamp, "|", verdict)
