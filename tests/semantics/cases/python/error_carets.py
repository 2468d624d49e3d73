def ratio(a, b):
    return (a + 1) / (b - b) * (a
                                + b)


print("before")
value = [1, ratio(
    2,
    3)]
