def first():
    raise KeyError("first")


def second():
    try:
        first()
    except KeyError:
        raise ValueError("second")


second()
