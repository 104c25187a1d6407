import sys
import time

start = time.perf_counter()
lines = context.splitlines()
batch_size = 50
hits = []
for number, begin in enumerate(range(0, len(lines), batch_size), start=1):
    batch = lines[begin:begin + batch_size]
    hits.extend((begin + j, line) for j, line in enumerate(batch) if "timeout" in line)
    print(f"batch {number}: {len(hits)} hits so far", file=sys.stderr)
elapsed = time.perf_counter() - start
assert elapsed >= 0
sys.stdout.write(f"done: {len(hits)} lines mention a timeout\n")
for index, line in hits[:5]:
    print(f"  line {index}: {line[20:75]}", flush=True)
sys.stdout.flush()
print(f"(took {'less' if elapsed < 60 else 'more'} than a minute)")
