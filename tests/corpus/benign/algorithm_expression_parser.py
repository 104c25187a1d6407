def parse(text):
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    position = 0

    def peek():
        return tokens[position] if position < len(tokens) else None

    def take():
        nonlocal position
        position += 1
        return tokens[position - 1]

    def expression():
        value = term()
        while peek() in ("+", "-"):
            value = value + term() if take() == "+" else value - term()
        return value

    def term():
        value = atom()
        while peek() in ("*", "/"):
            value = value * atom() if take() == "*" else value / atom()
        return value

    def atom():
        token = take()
        if token == "(":
            value = expression()
            take()
            return value
        return float(token)

    return expression()

for text in ("1 + 2 * 3", "( 1 + 2 ) * 3", "10 / 4 - 1"):
    print(text, "=", parse(text))
