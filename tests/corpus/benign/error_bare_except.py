results = []
for action in (lambda: 1 / 0, lambda: [][1], lambda: {}["k"], lambda: int("z"), lambda: None.x, lambda: undefined_name):
    try:
        action()
    except:
        results.append("failed")
print(results)
