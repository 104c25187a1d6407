def ask(prompt, attempts=3):
    for attempt in range(attempts):
        reply = llm_query(prompt)
        if not reply.startswith("Error:"):
            return reply
        print("retrying after", reply)
    return None

result = ask("Say something about: " + context[:40])
print(result)
