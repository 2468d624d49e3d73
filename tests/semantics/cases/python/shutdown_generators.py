def numbers(name):
    try:
        yield 1
        yield 2
    finally:
        print("closed", name)


dropped, kept = numbers("dropped"), numbers("kept")
print(next(dropped), next(kept))
del dropped
print("end")
