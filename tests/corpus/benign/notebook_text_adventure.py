rooms = {
    "hall": {"text": "A dusty hall.", "exits": {"north": "library", "east": "kitchen"}, "items": ["lamp"]},
    "library": {"text": "Rows of books.", "exits": {"south": "hall"}, "items": ["map", "key"]},
    "kitchen": {"text": "It smells of soup.", "exits": {"west": "hall", "down": "cellar"}, "items": []},
    "cellar": {"text": "Dark.", "exits": {"up": "kitchen"}, "items": ["wine"], "locked": True},
}
state = {"room": "hall", "bag": []}


def act(line):
    room = rooms[state["room"]]
    match line.lower().split():
        case ["look"] | []:
            return f"{room['text']} You see: {', '.join(room['items']) or 'nothing'}. Exits: {', '.join(room['exits'])}"
        case ["go", direction] | [("north" | "south" | "east" | "west" | "up" | "down") as direction]:
            target = room["exits"].get(direction)
            if target is None:
                return "You cannot go there."
            if rooms[target].get("locked") and "key" not in state["bag"]:
                return "It is locked."
            state["room"] = target
            return rooms[target]["text"]
        case ["take", "all"]:
            taken, room["items"][:] = room["items"][:], []
            state["bag"] += taken
            return f"Taken: {', '.join(taken) or 'nothing'}"
        case ["take", item] if item in room["items"]:
            room["items"].remove(item)
            state["bag"].append(item)
            return f"You have the {item}."
        case ["take", *rest]:
            return f"There is no {' '.join(rest)}."
        case ["bag"]:
            return str(state["bag"])
        case [verb, *_]:
            return f"You do not know how to {verb}."


for line in ["look", "east", "go down", "west", "north", "take all", "take a nap", "south", "east", "down", "take wine", "bag", "dance wildly", ""]:
    print(f"> {line}\n  {act(line)}")
