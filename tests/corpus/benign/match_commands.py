def run(command):
    match command.split():
        case ["go", direction]:
            return f"going {direction}"
        case ["take", *items] if items:
            return f"taking {', '.join(items)}"
        case ["quit" | "exit"]:
            return "bye"
        case []:
            return "nothing"
        case [unknown, *_]:
            return f"unknown: {unknown}"

for command in ("go north", "take lamp key", "quit", "", "dance now"):
    print(run(command))
