import weakref


class Thing:
    pass


kept, dropped, silent = Thing(), Thing(), Thing()
weakref.finalize(kept, print, "kept until the end")
weakref.finalize(dropped, print, "dropped")
weakref.finalize(silent, print, "never printed").atexit = False
reference = weakref.ref(dropped, lambda reference: print("callback"))
del dropped
print("end", reference())
