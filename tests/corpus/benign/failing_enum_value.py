from enum import Enum


class Color(Enum):
    RED = "r"
    BLUE = "b"


print([Color(x).name for x in "rb"])
print(Color("g"))
