import functools
import operator

if (n := len("walrus")) > 3:
    print(n)
match {"kind": "point", "at": [1, 2]}:
    case {"kind": "point", "at": [x, y]} if x < y:
        print("point", x, y)
print(functools.reduce(operator.mul, range(1, 30)), 7 // -2, -7 % 3, 0.1 + 0.2, 1e300 * 1e10, round(2.5), 10**20 // 3)
print(f"{3.14159:>10.2f}|{'é':^5}|{255:#x}|{1_000_000:,}|{n=}|{'nested' + f'{n}'!r}")
first, *rest = (i * i for i in range(5))
print(first, rest, [*rest, *"ab"], {**{"a": 1}, "b": 2}, sorted({3, 1, 2}), lambda: 0)
