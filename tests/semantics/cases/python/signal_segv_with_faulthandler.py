import ctypes
import faulthandler


def deepest():
    ctypes.string_at(0)


faulthandler.enable()
deepest()
