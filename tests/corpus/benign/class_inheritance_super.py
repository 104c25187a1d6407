class Animal:
    def __init__(self, name):
        self.name = name

    def speak(self):
        return "..."

    def __repr__(self):
        return f"{self.__class__.__name__}({self.name!r})"

class Dog(Animal):
    def __init__(self, name, breed):
        super().__init__(name)
        self.breed = breed

    def speak(self):
        return super().speak() + "Woof"

class Puppy(Dog):
    def speak(self):
        return super().speak().lower()

for animal in [Animal("generic"), Dog("Rex", "Lab"), Puppy("Bit", "Pug")]:
    print(animal, animal.speak(), isinstance(animal, Dog), type(animal).__name__)
print(issubclass(Puppy, Animal), Puppy.__name__)
