import re


def render(template, data):
    def block(match):
        name, body = match["name"], match["body"]
        value = data.get(name)
        if isinstance(value, list):
            return "".join(render(body, {**data, **(v if isinstance(v, dict) else {"item": v})}) for v in value)
        return render(body, data) if value else ""

    out = re.sub(r"\{%\s*(?P<name>\w+)\s*%\}(?P<body>.*?)\{%\s*end\s*%\}", block, template, flags=re.S)

    def variable(match):
        value, *filters = [p.strip() for p in match[1].split("|")]
        text = data
        for part in value.split("."):
            text = text[part] if isinstance(text, dict) and part in text else f"<{part}?>"
        for f in filters:
            text = {"upper": str.upper, "title": str.title, "money": lambda v: f"{float(v):,.2f}"}[f](text)
        return str(text)

    return re.sub(r"\{\{(.*?)\}\}", variable, out)


template = """Dear {{ user.name | title }},
{% paid %}thank you for paying {{ total | money }}.
{% end %}{% lines %}  * {{ text | upper }}: {{ amount | money }}
{% end %}Bye, {{ sender }}"""
data = {"user": {"name": "ada lovelace"}, "paid": True, "total": 1234.5, "lines": [{"text": "pens", "amount": 4}, {"text": "ink", "amount": "9.5"}]}
print(render(template, data))
print(render("{% tags %}#{{ item }} {% end %}", {"tags": ["a", "b"]}))
