print("This program greets you.")
name = input()
print(f"Hello, {name}!")
