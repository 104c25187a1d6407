class TestCase:
    def assertEqual(self, a, b):
        if a != b:
            raise AssertionError(f"{a!r} != {b!r}")

    def assertRaises(self, kind):
        return Raises(kind)

    def run(self):
        outcome = {}
        for name in dir(self):
            if not name.startswith("test_"):
                continue
            try:
                self.setUp()
                getattr(self, name)()
                outcome[name] = "ok"
            except AssertionError as e:
                outcome[name] = f"failed: {e}"
            except Exception as e:
                outcome[name] = f"error: {type(e).__name__}"
        return outcome


class Raises:
    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        if kind is None:
            raise AssertionError(f"{self.kind.__name__} was not raised")
        self.exception = value
        return issubclass(kind, self.kind)


class TestStack(TestCase):
    def setUp(self):
        self.stack = [1, 2]

    def test_pop(self):
        self.assertEqual(self.stack.pop(), 2)

    def test_state_is_fresh(self):
        self.assertEqual(len(self.stack), 3)

    def test_empty(self):
        with self.assertRaises(IndexError) as caught:
            [].pop()
        self.assertEqual(str(caught.exception), "pop from empty list")

    def test_not_raised(self):
        with self.assertRaises(KeyError):
            pass

    def test_other(self):
        with self.assertRaises(KeyError):
            int("x")


for name, outcome in TestStack().run().items():
    print(f"{name:<22}{outcome}")
