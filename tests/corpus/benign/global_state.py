counter = 0
history = []

def tick(n=1):
    global counter
    counter += n
    history.append(counter)

for i in range(4):
    tick(i)
print(counter, history)

def outer():
    x = 1
    def middle():
        def inner():
            nonlocal x
            x *= 10
            return x
        return inner() + x
    return middle(), x
print(outer())
