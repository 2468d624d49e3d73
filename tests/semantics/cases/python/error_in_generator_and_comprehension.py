def numbers():
    for i in (2, 1, 0):
        yield 10 // i


print([n for n in (m for m in numbers())])
