from itertools import islice

def grouper(iterable, n):
    it = iter(iterable)
    while chunk := list(islice(it, n)):
        yield chunk

words = context.split()
first = next(grouper(words, 7))
print(first)
print(len(list(grouper(words, 100))))
print([len(c) for c in grouper(range(10), 4)])
