def parse(tokens):
    def expression():
        value = term()
        while tokens and tokens[0] in "+-":
            value = value + term() if tokens.pop(0) == "+" else value - term()
        return value

    def term():
        if not tokens:
            raise SyntaxError("unexpected end of input")
        token = tokens.pop(0)
        if token == "(":
            value = expression()
            if not tokens or tokens.pop(0) != ")":
                raise SyntaxError("missing )")
            return value
        return int(token)

    return expression()


for text in ("1 + 2", "( 3 - 1 ) + 4", "( 1 + 2"):
    print(text, "=", parse(text.split()))
