def ask(prompt, default):
    try:
        reply = input(prompt)
    except EOFError:
        reply = ""
    return reply.strip() or default


name = ask("", "anonymous")
count = int(ask("", "3"))
for i in range(count):
    print(f"{i + 1}. hello {name}")
try:
    while True:
        line = input()
        print("got", line)
except (EOFError, KeyboardInterrupt):
    print("end of input")
