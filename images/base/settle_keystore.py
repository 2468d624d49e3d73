"""Rewrites Java's list of authorities, in which each has the moment when it was added: settle_keystore.py FILE

The form (JKS) is: magic, version and number; of each entry its kind, its alias, the moment in milliseconds, the kind of its certificate
and the certificate; and a sum of all that, with the password in front."""

import hashlib
import struct
import sys

MAGIC, CERTIFICATE = 0xFEEDFEED, 2
PASSWORD = "changeit"  # everybody's: Java's own default


def read_entries(data):
    magic, _, count = struct.unpack_from(">III", data)
    if magic != MAGIC:
        sys.exit("it is no JKS")
    at = 12
    for _ in range(count):
        kind, size = struct.unpack_from(">IH", data, at)
        if kind != CERTIFICATE:
            sys.exit("it has something else than certificates")
        alias = data[at + 6:at + 6 + size]
        at += 6 + size + 8
        size, = struct.unpack_from(">H", data, at)
        length, = struct.unpack_from(">I", data, at + 2 + size)
        end = at + 2 + size + 4 + length
        yield alias, data[at:end]
        at = end


def main(path):
    with open(path, "rb") as file:
        entries = sorted(read_entries(file.read()))
    body = struct.pack(">III", MAGIC, 2, len(entries))
    for alias, certificate in entries:
        body += struct.pack(">IH", CERTIFICATE, len(alias)) + alias + struct.pack(">Q", 0) + certificate
    digest = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    with open(path, "wb") as file:
        file.write(body + digest)


if __name__ == "__main__":
    main(sys.argv[1])
