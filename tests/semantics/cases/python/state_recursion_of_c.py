import sys


class Chain:
    def __init__(self, next):
        self.next = next

    def __repr__(self):
        return f"({self.next!r})"


chain = None
for i in range(300):
    chain = Chain(chain)
print(len(repr(chain)))
nested = []
for i in range(100_000):
    nested = [nested]
try:
    repr(nested)
except RecursionError as error:
    print(error)
try:
    eval("(" * 150 + ")" * 150)
except (MemoryError, RecursionError, SyntaxError) as error:
    print(type(error).__name__, error)
