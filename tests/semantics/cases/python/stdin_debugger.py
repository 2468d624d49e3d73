def halt():
    value = 41
    breakpoint()
    value += 1
    return value


print(halt())
