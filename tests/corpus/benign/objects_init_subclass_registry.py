class Command:
    registry: dict[str, type] = {}
    help = "no help"

    def __init_subclass__(cls, /, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.name = name or cls.__name__.lower()
        Command.registry[cls.name] = cls

    def run(self, *args):
        raise NotImplementedError(f"{self.name} does nothing yet")


class Add(Command):
    help = "add numbers"

    def run(self, *args):
        return sum(map(float, args))


class Echo(Command, name="say"):
    help = "repeat the words"

    def run(self, *args):
        return " ".join(args)


class Todo(Command):
    pass


for line in ("add 1 2 3.5", "say hello world", "todo", "jump high", "add one"):
    name, *args = line.split()
    try:
        print(f"> {line}\n{Command.registry[name]().run(*args)}")
    except KeyError as e:
        print(f"> {line}\nunknown command {e}")
    except (NotImplementedError, ValueError) as e:
        print(f"> {line}\n{type(e).__name__}: {e}")
for name, cls in Command.registry.items():
    print(f"{name:<6}{cls.help:<20}{cls.__qualname__}")
