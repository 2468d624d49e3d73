print("never printed")
value = max(1, 2
other = 3
