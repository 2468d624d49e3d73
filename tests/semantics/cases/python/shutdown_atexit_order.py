import atexit

for number in range(3):
    atexit.register(print, "registered", number)
atexit.unregister(len)


@atexit.register
def nested():
    atexit.register(print, "registered during the end")
    print("nested", __name__, "__file__" in globals())


print("end")
