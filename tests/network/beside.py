"""A service of the machine's own, for no sandbox: beside.py JOURNAL READY-FD. Each connection is written down."""

import os
import selectors
import socket
import sys

from journal import Journal

PORT = 9999


def listener(family, address):
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind((address, PORT))
    made.listen()
    return made


def main(path, ready):
    journal = Journal(path)
    chooser = selectors.DefaultSelector()
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        chooser.register(listener(family, address), selectors.EVENT_READ)
    os.write(ready, b"ready")
    os.close(ready)
    while True:
        for key, _ in chooser.select():
            connection, address = key.fileobj.accept()
            with connection:
                journal.write("machine", sender=address[0])
                connection.sendall(b"forbidden\n")


main(sys.argv[1], int(sys.argv[2]))
