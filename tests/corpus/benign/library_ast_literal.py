import ast
import json

answers = ["[1, 2, 'three']", "{'a': (1, 2), 'b': None}", "not a literal", "__import__('x')", "3.5", "{1, 2} "]
for text in answers:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError) as e:
        print(f"{text!r:<28} rejected: {type(e).__name__}")
    else:
        print(f"{text!r:<28} {type(value).__name__} {value}")
try:
    print(json.dumps(ast.literal_eval("{'x': [True, None]}")))
except ValueError:
    print("no")
