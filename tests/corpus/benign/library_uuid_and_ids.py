import uuid
import itertools

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "example.com")
print(NAMESPACE)
records = ["alice", "bob", "alice"]
ids = [uuid.uuid5(NAMESPACE, r) for r in records]
print(ids[0] == ids[2], ids[0] == ids[1], ids[1].hex[:8], ids[1].version)
print(uuid.UUID("12345678-1234-5678-1234-567812345678").int % 1000, uuid.UUID(int=5))
random_id = uuid.uuid4()
print(random_id.version, len(str(random_id)), random_id != uuid.uuid4(), uuid.uuid3(uuid.NAMESPACE_URL, "x").version)
try:
    uuid.UUID("not-a-uuid")
except ValueError as e:
    print("ValueError:", e)
counter = itertools.count(1)
short = {r: f"U{next(counter):03d}" for r in dict.fromkeys(records)}
print(short, sorted({str(i) for i in ids})[0][:8])
