"""Read what the function that asks the model closes over: its channel.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: llm_query
"""

def maker(secret):
    return lambda: secret

cells = [*(llm_query.__closure__ or ()), *maker("a secret").__closure__]
print("WON reached", type(cells[0].cell_contents))
