def run(action):
    steps = []
    try:
        steps.append("try")
        result = action()
    except ValueError as e:
        steps.append(f"except {e}")
        result = None
    else:
        steps.append("else")
    finally:
        steps.append("finally")
    return result, steps


print(run(lambda: 5))
print(run(lambda: int("z")))
try:
    print(run(lambda: [][0]))
except IndexError as e:
    print("passed on:", e)


def surprising():
    for i in range(3):
        try:
            if i == 1:
                continue
            if i == 2:
                return f"return {i}"
        finally:
            print("finally", i)


print(surprising())
for attempt in range(5):
    try:
        if attempt < 2:
            raise TimeoutError(attempt)
        print("worked on attempt", attempt)
        break
    except TimeoutError as e:
        print("retry after", e.args)
else:
    print("gave up")
