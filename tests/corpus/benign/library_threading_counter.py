import threading
import time

counter = 0
lock = threading.Lock()


def work(n):
    global counter
    for _ in range(n):
        with lock:
            counter += 1
    time.sleep(0)


threads = [threading.Thread(target=work, args=(200,), name=f"worker-{i}") for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(counter, [t.name for t in threads], any(t.is_alive() for t in threads))
