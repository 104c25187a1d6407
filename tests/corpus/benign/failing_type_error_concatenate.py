def report(name, count):
    return "Found " + count + " of " + name

words = context.split()
print(f"{len(words) > 100}")
print(report("errors", words.count("ERROR")))
