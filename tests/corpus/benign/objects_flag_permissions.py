from enum import Flag, IntFlag, StrEnum, auto


class Perm(Flag):
    READ = auto()
    WRITE = auto()
    EXECUTE = auto()
    ALL = READ | WRITE | EXECUTE


class Color(StrEnum):
    RED = auto()
    GREEN = auto()


class Mode(IntFlag):
    A = 1
    B = 2


users = {"alice": Perm.ALL, "bob": Perm.READ | Perm.WRITE, "eve": Perm(0)}
for user, perm in users.items():
    names = [p.name for p in (Perm.READ, Perm.WRITE, Perm.EXECUTE) if p in perm]
    print(f"{user:<6} {perm.value:03b} {names or 'nothing'} {bool(perm)}")
revoked = users["alice"] & ~Perm.WRITE
print(Perm.WRITE in revoked, revoked == Perm.READ | Perm.EXECUTE)
print(Color.RED, f"{Color.GREEN:>8}", Color("red").upper(), list(Color), Color.RED == "red")
print(int(Mode.A | Mode.B), Mode(3) & 1 == 1)
