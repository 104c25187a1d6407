from dataclasses import dataclass, field
from typing import Optional

@dataclass
class Rectangle:
    width: float
    height: float
    label: Optional[str] = None
    area: float = field(init=False)

    def __post_init__(self):
        if self.width < 0 or self.height < 0:
            raise ValueError(f"negative size: {self.width}x{self.height}")
        self.area = self.width * self.height
        self.label = self.label or f"{self.width}x{self.height}"

print(Rectangle(2, 3.5))
try:
    Rectangle(-1, 2)
except ValueError as error:
    print(type(error).__name__, error)
