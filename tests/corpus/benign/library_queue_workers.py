import queue

tasks = queue.Queue(maxsize=3)
for name in ("read", "parse", "store"):
    tasks.put(name)
print(tasks.full(), tasks.qsize())
try:
    tasks.put_nowait("extra")
except queue.Full:
    print("queue is full")
while not tasks.empty():
    print("doing", tasks.get())
try:
    tasks.get(block=False)
except queue.Empty as e:
    print("nothing left:", type(e).__name__)

urgent = queue.PriorityQueue()
for priority, job in [(3, "sweep"), (1, "fire"), (2, "call")]:
    urgent.put((priority, job))
print([urgent.get()[1] for _ in range(urgent.qsize())])
stack = queue.LifoQueue()
for c in "abc":
    stack.put(c)
print("".join(stack.get() for _ in range(3)), stack.empty())
