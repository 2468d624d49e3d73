"""TLS: the name in the ClientHello against the name that was looked up, and hellos that hide it."""

import time

from tries import *


def greet(host, data, port=443):
    return server_answered(exchange(connect(host, port), data))


@attempt
def another_name_than_looked_up():
    return tls(WEB_NAME, name=EVIL_NAME)


@attempt
def name_of_another_on_the_address():
    return tls(WEB, name=EVIL_NAME)


@attempt
def no_name_on_the_address():
    return greet(WEB, records(hello(None)))


@attempt
def split_into_bytes():
    with connect(WEB_NAME, 443) as made:
        made.settimeout(PATIENCE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in records(hello(EVIL_NAME)):
            made.send(bytes([byte]))
        return server_answered(made.recv(4096))


@attempt
def split_into_records():
    return greet(WEB_NAME, records(hello(EVIL_NAME), 7))


@attempt
def padded():
    return greet(WEB_NAME, records(hello(EVIL_NAME, pad=40000)))


@attempt
def late():
    with connect(WEB_NAME, 443) as made:
        made.settimeout(PATIENCE)
        data = records(hello(EVIL_NAME))
        made.sendall(data[:60])
        time.sleep(1)
        made.sendall(data[60:])
        return server_answered(made.recv(4096))


@attempt
def encrypted_hello():
    ech = struct.pack("!HH", 0xFE0D, 12) + b"\0\0\1\0\1\7\0\0\0\2\1\1"
    return greet(WEB_NAME, records(hello(WEB_NAME, ech)))


@attempt
def two_names():
    more = struct.pack("!HH", 0, 5 + len(EVIL_NAME)) + struct.pack("!HBH", len(EVIL_NAME) + 3, 0, len(EVIL_NAME)) + EVIL_NAME.encode()
    return greet(WEB_NAME, records(hello(WEB_NAME, more)))


@attempt
def name_with_a_zero_byte():
    return greet(WEB, records(hello(b"web.example.org\0.evil.example.net")))


@attempt
def name_with_a_final_dot():
    return greet(WEB, records(hello("evil.example.net.")))


@attempt
def address_as_a_name():
    return greet(WEB, records(hello(EVIL)))


@attempt
def old_hello():
    """SSLv2's form."""
    return greet(WEB, b"\x80\x2e\1\0\2\0\x15\0\0\0\x10" + bytes(37))


@attempt
def record_too_long():
    return greet(WEB_NAME, b"\x16\3\1\xff\xff" + bytes(70000))


@attempt
def secrets_to_any_port():
    return tls("port.wild.example.org", 8443, "port.wild.example.org")


@attempt
def hello_after_another_protocol():
    """First bytes of an allowed kind, then a ClientHello."""
    data = exchange(connect(WEB, 443), b"\n" + records(hello(WEB_NAME)))
    return server_answered(data)


main()
