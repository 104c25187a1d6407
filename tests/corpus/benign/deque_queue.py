from collections import deque
q = deque(maxlen=3)
for i in range(5):
    q.append(i)
    print(list(q), end=" ")
print()
q.appendleft(9)
q.rotate(1)
print(q, q.pop(), q.popleft(), len(q))
window, out = deque(), []
for i, x in enumerate([1, 3, -1, -3, 5, 3, 6, 7]):
    while window and window[-1][1] <= x:
        window.pop()
    window.append((i, x))
    if window[0][0] <= i - 3:
        window.popleft()
    if i >= 2:
        out.append(window[0][1])
print(out)
