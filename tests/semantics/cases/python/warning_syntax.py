x = 3
if x is 3:
    print("the same")
print((1, 2)
      (0)) if x == 4 else None
