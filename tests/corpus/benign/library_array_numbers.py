from array import array

samples = array("d", [0.5, 1.5, -2.0])
samples.append(4.25)
samples.extend([0.0, 1.0])
print(samples, len(samples), samples.typecode, samples.itemsize)
print(sum(samples), max(samples), samples[1:3].tolist(), samples.index(4.25))
counts = array("i", [0]) * 5
for x in (1, 3, 3, 4, 1, 1):
    counts[x] += 1
print(counts.tolist(), counts.count(0))
try:
    counts.append("x")
except TypeError as e:
    print(type(e).__name__)
try:
    array("B", [256])
except OverflowError:
    print("OverflowError")
raw = array("H", [1, 2, 3]).tobytes()
back = array("H")
back.frombytes(raw)
print(len(raw), back == array("H", [1, 2, 3]), list(reversed(back)))
