class Named:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name, __name__, print is not None)


first = Named("first")
second = Named("second")
_private = Named("private")
cycle = Named("cycle")
cycle.self = cycle
Named("at once")
del first
print("end")
