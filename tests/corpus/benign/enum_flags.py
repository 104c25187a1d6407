from enum import Flag, auto, StrEnum

class Permission(Flag):
    READ = auto()
    WRITE = auto()
    EXECUTE = auto()
    ALL = READ | WRITE | EXECUTE

class Color(StrEnum):
    RED = "red"
    BLUE = "blue"

user = Permission.READ | Permission.WRITE
print(Permission.WRITE in user, Permission.EXECUTE in user, bool(user & Permission.EXECUTE))
print((user | Permission.EXECUTE) == Permission.ALL, Permission.ALL.value)
print(f"{Color.RED} {Color.BLUE.upper()} {Color('red') is Color.RED}")
