def quicksort(xs):
    if len(xs) < 2:
        return xs
    pivot, *rest = xs
    return quicksort([x for x in rest if x < pivot]) + [pivot] + quicksort([x for x in rest if x >= pivot])

def merge_sort(xs):
    if len(xs) < 2:
        return xs
    middle = len(xs) // 2
    left, right = merge_sort(xs[:middle]), merge_sort(xs[middle:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right

def bubble(xs):
    xs = list(xs)
    for i in range(len(xs)):
        for j in range(len(xs) - i - 1):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs

values = [5, 3, 9, 1, 5, 0, -2, 8]
print(quicksort(values) == merge_sort(values) == bubble(values) == sorted(values), quicksort(values))
