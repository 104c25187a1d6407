import time
import uuid
start = time.perf_counter()
total = sum(i * i for i in range(1000))
elapsed = time.perf_counter() - start
print(total, elapsed >= 0, time.time() > 1_600_000_000)
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), len(str(uuid.uuid4())))
print(time.strftime("%Y-%m-%d", time.gmtime(86400)))
