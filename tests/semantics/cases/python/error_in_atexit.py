import atexit


@atexit.register
def last():
    print("last")


@atexit.register
def broken():
    raise OverflowError("at exit")


print("end")
