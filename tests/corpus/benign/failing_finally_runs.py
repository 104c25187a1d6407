class Connection:
    def __enter__(self):
        print("connected")
        return self

    def __exit__(self, *details):
        print("disconnected after", details[0].__name__)
        return False

    def send(self, n):
        if n > 2:
            raise ConnectionError(f"lost at message {n}")
        print("sent", n)


with Connection() as c:
    try:
        for n in range(5):
            c.send(n)
    finally:
        print("flushing")
