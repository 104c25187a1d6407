from dataclasses import dataclass, fields
from datetime import date
from typing import Any


@dataclass
class Booking:
    guest: str
    nights: int
    arrival: date
    email: str = ""

    def validate(self) -> list[str]:
        problems = []
        for f in fields(self):
            check = getattr(self, f"_check_{f.name}", None)
            if check is None:
                continue
            try:
                check(getattr(self, f.name))
            except (ValueError, TypeError) as e:
                problems.append(f"{f.name}: {e}")
        return problems

    def _check_guest(self, value: Any) -> None:
        if not str(value).strip():
            raise ValueError("is empty")

    def _check_nights(self, value: Any) -> None:
        if not isinstance(value, int):
            raise TypeError(f"is a {type(value).__name__}")
        if not 1 <= value <= 30:
            raise ValueError(f"{value} is not between 1 and 30")

    def _check_email(self, value: str) -> None:
        if value and value.count("@") != 1:
            raise ValueError(f"{value!r} has {value.count('@')} @")


for booking in (Booking("Ada", 3, date(2024, 5, 1), "a@b.c"), Booking(" ", 99, date.min, "x@@y"), Booking("Bob", "2", None)):
    problems = booking.validate()
    print(booking.guest or "?", "->", problems or "fine")
