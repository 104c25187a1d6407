def flatten(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item

nested = [1, [2, (3, [4, [5]]), []], ((6,),), "seven"]
print(list(flatten(nested)))

def depth(x):
    return 1 + max(map(depth, x), default=0) if isinstance(x, (list, tuple)) else 0
print(depth(nested))
