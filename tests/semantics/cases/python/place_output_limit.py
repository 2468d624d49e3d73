while True:
    print("x" * 100)
