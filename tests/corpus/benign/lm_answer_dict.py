errors = sum(" ERROR " in line for line in context.splitlines())
answer["content"] = f"There are {errors} errors."
answer["ready"] = True
print(answer)
