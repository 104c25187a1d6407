tests = ["1", "x", None, [1], "9" * 3]
for value in tests:
    try:
        number = int(value)
        assert number > 5, f"{number} is too small"
    except (ValueError, TypeError) as error:
        print(repr(value), "->", error.__class__.__name__)
    except AssertionError as error:
        print(repr(value), "-> assertion:", error)
    else:
        print(repr(value), "->", number)
