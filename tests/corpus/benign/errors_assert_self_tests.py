import traceback


def slug(text):
    return "-".join(text.lower().split())


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def test_slug():
    assert slug("Hello World") == "hello-world"


def test_median():
    assert median([3, 1, 2]) == 2
    assert median([1, 2, 3, 4]) == 2.5


def test_wrong():
    assert median([1, 3]) == 3, f"got {median([1, 3])}"


def test_crash():
    median([])


passed = failed = 0
for test in (test_slug, test_median, test_wrong, test_crash):
    try:
        test()
    except AssertionError as e:
        failed += 1
        print(f"FAIL {test.__name__}: {e}")
    except Exception:
        failed += 1
        print(f"ERROR {test.__name__}: {traceback.format_exc().strip().splitlines()[-1]}")
    else:
        passed += 1
        print(f"ok   {test.__name__}")
print(f"{passed} passed, {failed} failed")
