"""Read what the function that asks the model closes over: its channel.

guarantee: no-reflection
layer: language
wins: reflects
"""

def maker(secret):
    return lambda: secret

cells = [*(llm_query.__closure__ or ()), *maker("a secret").__closure__]
print("WON reached", cells[0].cell_contents)
