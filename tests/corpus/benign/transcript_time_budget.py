import time
from datetime import datetime, timedelta

deadline = time.monotonic() + 60
done, skipped = [], []
for i, section in enumerate(context.split("\n### ")):
    if time.monotonic() > deadline:
        skipped.append(i)
        continue
    started = datetime.now()
    reply = llm_query(f"Describe this part:\n{section[:200]}")
    took = datetime.now() - started
    done.append((i, len(reply), took))
    time.sleep(0.001)
print(f"{len(done)} done, {len(skipped)} skipped")
assert all(isinstance(t, timedelta) and t < timedelta(minutes=1) for *_, t in done)
print([n for _, n, _ in done])
stamp = datetime(2024, 5, 1, 12, 30)
print(f"{stamp:%Y-%m-%d %H:%M}", (stamp + timedelta(seconds=90)).strftime("%H:%M:%S"), datetime.now().year >= 2024)
