from enum import Enum, IntEnum, auto, unique


@unique
class Status(Enum):
    NEW = "new"
    PAID = "paid"
    SHIPPED = "shipped"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        return self in (Status.DONE, Status.CANCELLED)

    @classmethod
    def from_text(cls, text: str) -> "Status":
        try:
            return cls(text.strip().lower())
        except ValueError:
            raise ValueError(f"unknown status {text!r}; one of {[s.value for s in cls]}") from None

    def __str__(self):
        return self.value.title()


class Priority(IntEnum):
    LOW = auto()
    NORMAL = auto()
    HIGH = auto()


NEXT = {Status.NEW: {Status.PAID, Status.CANCELLED}, Status.PAID: {Status.SHIPPED, Status.CANCELLED}, Status.SHIPPED: {Status.DONE}}
status = Status.NEW
for step in (" Paid", "shipped", "new", "lost", "done"):
    try:
        wanted = Status.from_text(step)
        if wanted not in NEXT.get(status, ()):
            raise RuntimeError(f"{status} -> {wanted} is not allowed")
        status = wanted
    except (ValueError, RuntimeError) as e:
        print(f"  {type(e).__name__}: {e}")
print(status, repr(status), status.name, status.final, Status["PAID"].value)
print([p.name for p in Priority], Priority.HIGH > Priority.LOW, max(Priority), Priority(2), Priority.HIGH + 1)
print(len(Status), Status.NEW is Status("new"), {s: s.final for s in Status}[Status.DONE])
