transitions = {
    ("closed", "open"): "opened",
    ("opened", "close"): "closed",
    ("closed", "lock"): "locked",
    ("locked", "unlock"): "closed",
}

class Door:
    def __init__(self):
        self.state = "closed"
        self.trail = [self.state]

    def handle(self, event):
        key = (self.state, event)
        if key not in transitions:
            return f"cannot {event} when {self.state}"
        self.state = transitions[key]
        self.trail.append(self.state)
        return self.state

door = Door()
print([door.handle(e) for e in ("lock", "open", "unlock", "close", "open", "open")])
print(" > ".join(door.trail))
