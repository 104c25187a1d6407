from enum import Enum, auto, IntEnum

class State(Enum):
    IDLE = auto()
    RUNNING = auto()
    DONE = auto()

    def next(self):
        members = list(State)
        return members[(members.index(self) + 1) % len(members)]

class Priority(IntEnum):
    LOW = 1
    HIGH = 3

state = State.IDLE
for _ in range(4):
    print(state, state.name, state.value, end=" -> ")
    state = state.next()
print()
print(State["DONE"], State(2), State.DONE is State(3), Priority.HIGH > Priority.LOW, Priority.HIGH + 1)
print({s.name: s.value for s in State}, State.IDLE in State)
try:
    State(99)
except ValueError as e:
    print(e)
