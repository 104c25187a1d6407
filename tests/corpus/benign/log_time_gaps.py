from datetime import datetime
stamps = []
for line in context.splitlines():
    try:
        stamps.append(datetime.strptime(line[:19], "%Y-%m-%d %H:%M:%S"))
    except ValueError:
        continue
gaps = [(b - a).total_seconds() for a, b in zip(stamps, stamps[1:])]
print(len(stamps), stamps[0], stamps[-1])
print("max gap:", max(gaps), "min gap:", min(gaps))
print("span:", stamps[-1] - stamps[0])
