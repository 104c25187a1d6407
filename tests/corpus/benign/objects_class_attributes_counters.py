import itertools


class Ticket:
    _ids = itertools.count(1)
    open_tickets = 0
    priorities = ("low", "high")

    def __init__(self, title, priority="low"):
        assert priority in self.priorities, priority
        self.id = next(Ticket._ids)
        self.title, self.priority = title, priority
        self._history = []
        Ticket.open_tickets += 1

    def close(self, reason=""):
        self._history.append(("closed", reason))
        type(self).open_tickets -= 1
        return self

    @staticmethod
    def key(ticket):
        return (ticket.priority != "high", ticket.id)

    def __repr__(self):
        return f"#{self.id} {self.title}{'!' * (self.priority == 'high')}"


tickets = [Ticket("Login fails", "high"), Ticket("Typo"), Ticket("Data lost", priority="high")]
print(sorted(tickets, key=Ticket.key), Ticket.open_tickets)
tickets[1].close("fixed")
print(tickets[1]._history, Ticket.open_tickets, tickets[0].open_tickets)
tickets[0].priorities = ()
print(Ticket.priorities, tickets[0].priorities, "priorities" in vars(tickets[0]), "_ids" in vars(tickets[0]))
try:
    Ticket("?", "urgent")
except AssertionError as e:
    print("AssertionError:", e)
