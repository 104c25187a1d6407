def main():
    words = context.split()
    print("words:", len(words))
    return len(words)

if __name__ == "__main__":
    n = main()
    print(n > 100)
