def main():
    print("main of", __name__)
    return 5


if __name__ == "__main__":
    raise SystemExit(main())
