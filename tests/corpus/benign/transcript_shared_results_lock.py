import threading
from queue import Queue

results = {}
lock = threading.Lock()
jobs = Queue()
for i, line in enumerate(l for l in context.splitlines() if " WARNING " in l):
    jobs.put((i, line))

def work():
    while not jobs.empty():
        index, line = jobs.get()
        blocks = int(line.split(" blocks")[0].rsplit(" ", 1)[1])
        with lock:
            results[index] = blocks
        jobs.task_done()

work()
jobs.join()
print(len(results), "warnings; blocks:", [results[i] for i in sorted(results)][:10])
print("most:", max(results.values()), "locked:", lock.locked())
