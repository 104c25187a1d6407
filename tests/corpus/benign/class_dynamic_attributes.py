class Record:
    def __init__(self, **fields):
        for key, value in fields.items():
            setattr(self, key, value)

    def __getattr__(self, name):
        return f"<no {name}>"

    def __str__(self):
        return ", ".join(f"{k}={getattr(self, k)}" for k in sorted(vars(self)))

r = Record(b=2, a=1)
r.c = 3
print(r, r.missing, hasattr(r, "a"), getattr(r, "b", None))
delattr(r, "c")
print([name for name in ("a", "b", "c") if name in vars(r)])
