payloads = [b"plain", "größe".encode("utf-8"), "größe".encode("latin-1")]
for p in payloads:
    print(p.decode("utf-8"))
