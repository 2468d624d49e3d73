import doctest


def double(n):
    """Twice as much.

    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * n


print(doctest.testmod())
