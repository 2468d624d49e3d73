# What hangs on classes that were loaded before the script goes at the end, too.
import codecs
import io
import os
import tempfile


class Named:
    def __init__(self, name):
        self.name = name

    def __del__(self, write=os.write):
        write(1, b"gone: %s\n" % self.name)


codecs.Codec.kept = Named(b"held by a class of codecs")
path = os.path.join(tempfile.mkdtemp(), "log")
log = open(path, "w")
log.write("buffered\n")


class Reader:
    """Goes after the file that it reads, which the class below holds."""

    def __del__(self, open=os.open, read=os.read, write=os.write, path=path, flags=os.O_RDONLY):
        write(1, read(open(path, flags), 100))


class Holder:
    def __init__(self):
        self.log, self.reader = log, Reader()

    def __del__(self):
        self.log.close()


io.TextIOBase.kept = Holder()
del log
print("end", flush=True)
