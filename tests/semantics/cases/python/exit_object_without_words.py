import sys


class Mute:
    def __str__(self):
        raise ValueError("no words")


sys.exit(Mute())
