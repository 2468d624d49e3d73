import inspect


def f(a, *, b=2):
    """Doc."""
    return a + b  # a comment


class Kind:
    # Of the class.
    def method(self):
        return lambda: 3


print(inspect.getsource(f))
print(inspect.getsource(Kind))
print(inspect.getsourcelines(Kind.method), inspect.getsourcefile(f), inspect.getfile(Kind), inspect.getmodule(f))
print(inspect.getcomments(Kind.method), inspect.signature(f))
