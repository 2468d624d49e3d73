import builtins
import os
import sys
import threading
import weakref


class Named:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        sys.__stdout__.write("gone: %s\n" % self.name) if sys and sys.__stdout__ else os.write(1, b"gone late\n")


class Pair:
    pass


def hold():
    return kept


kept = Named("held by a global that a function uses")
os.kept = Named("held by os")
threading.kept = Named("held by threading")
left, right = Pair(), Pair()
left.other, right.other, left.held = right, left, Named("held by a cycle")
hold.kept = Named("held by a function")
hold.itself = hold
Pair.kept = Named("held by a class")
weakref.finalize(left, print, "finalized")
builtins.kept = Named("held by builtins")
print("end")
