def main() -> int:
    print("checking", len(context) > 0)
    return 3


if __name__ == "__main__":
    raise SystemExit(main())
