a, b = 3, 4
assert a == b, f"{a} is not {b}"
