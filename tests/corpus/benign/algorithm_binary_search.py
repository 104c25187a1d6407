import bisect

def binary_search(items, target):
    lo, hi = 0, len(items) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if items[mid] == target:
            return mid
        elif items[mid] < target:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1

data = sorted(x * 7 % 101 for x in range(50))
print(binary_search(data, 42), binary_search(data, 1000))
print(bisect.bisect_left(data, 42), bisect.bisect_right(data, 42))
bisect.insort(data, 43)
print(data[20:26])
