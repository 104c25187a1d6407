from abc import ABC, abstractmethod


class Store(ABC):
    @abstractmethod
    def get(self, key): ...

    @abstractmethod
    def put(self, key, value): ...


class Memory(Store):
    def __init__(self):
        self.data = {}

    def get(self, key):
        return self.data.get(key)


print(issubclass(Memory, Store))
store = Memory()
