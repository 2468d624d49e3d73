import dis


def f(x):
    return [y * 2 for y in x
            if y]


print(list(f.__code__.co_positions())[:6], list(f.__code__.co_lines()))
dis.dis(f)
