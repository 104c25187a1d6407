import json
reply = "Here is the JSON you asked for: {\"answer\": 42}"
print("length", len(reply))
data = json.loads(reply)
print(data["answer"])
