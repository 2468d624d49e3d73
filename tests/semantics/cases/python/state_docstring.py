"""What this is about.

A second paragraph.
"""
print(repr(__doc__))


def f():
    """Of the function."""


print(f.__doc__, f.__module__, f.__qualname__, f.__code__.co_filename, f.__code__.co_firstlineno)
