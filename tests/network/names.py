"""The world's DNS: for every address and port 53, with names that behave badly."""

import asyncio
import ipaddress
import socket
import struct

A, CNAME, PTR, MX, TXT, AAAA = 1, 5, 12, 15, 16, 28

# Name → address texts, or names that it is an alias of.
ZONE = {
    "web.example.org": ["44.10.0.80", "2a0f:10::80"],
    "api.example.org": ["44.10.0.80"],
    "example.org": ["44.10.0.80"],
    "other.example.org": ["44.10.0.81"],
    "evil.example.net": ["44.10.0.81"],
    "example.net": ["44.10.0.81"],
    "git.example.org": ["44.10.0.22"],
    "untrusted.example.org": ["44.10.0.80"],
    "private.example.org": ["10.20.0.1"],
    "loop.example.org": ["127.0.0.1"],
    "loop6.example.org": ["::1"],
    "metadata.example.org": ["169.254.169.254"],
    "mapped.example.org": ["::ffff:10.20.0.1"],
    "nat64.example.org": ["64:ff9b::a9fe:a9fe"],
    "local6.example.org": ["fd20::1"],
    "machine.example.org": ["44.10.0.1"],
    "machine6.example.org": ["2a0f:10::1"],
    "zero.example.org": ["0.0.0.0"],
    "broadcast.example.org": ["255.255.255.255"],
    "multicast.example.org": ["224.0.0.1"],
    "synthetic.example.org": ["198.18.0.1"],
    "mixed.example.org": ["10.20.0.1", "44.10.0.80"],
    "alias.example.org": ["web.example.org"],
    "alias-private.example.org": ["deep.example.net"],
    "deep.example.net": ["private.example.org"],
    "alias-loop.example.org": ["alias-loop2.example.org"],
    "alias-loop2.example.org": ["alias-loop.example.org"],
    "dead.example.org": ["44.10.9.9"],
    "db.example.org": ["44.10.0.82"],
}


def read_name(data, place):
    labels, seen = [], 0
    end = None
    while data[place]:
        if data[place] >= 192:
            end = end or place + 2
            place = struct.unpack_from("!H", data, place)[0] & 0x3FFF
            seen += 1
            if seen > 20:
                raise ValueError("a loop")
            continue
        labels.append(data[place + 1:place + 1 + data[place]].decode("latin-1"))
        place += 1 + data[place]
    return ".".join(labels), end or place + 1


def write_name(name):
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in name.split(".") if label) + b"\0"


class Zone:
    def __init__(self, journal):
        self.journal = journal
        self.rebound = 0

    def lookup(self, name):
        if name.endswith(".wild.example.org"):
            return ["44.10.0.80"]
        if name == "rebind.example.org":  # public at first, then the machine's loopback
            self.rebound += 1
            return ["44.10.0.80"] if self.rebound == 1 else ["127.0.0.1"]
        return ZONE.get(name)

    def answer(self, question, to):
        """The message, and the seconds after which it is sent."""
        number, _, _ = struct.unpack_from("!HHH", question)
        name, place = read_name(question, 12)
        kind = struct.unpack_from("!H", question, place)[0]
        name = name.lower()
        self.journal.write("dns", name=name, type=kind, to=to)
        records, code = self.records(name, kind)
        head = struct.pack("!HHHHHH", number, 0x8580 | code, 1, len(records), 0, 0)
        return head + question[12:place + 4] + b"".join(records), 3 if name.startswith("slow.") else 0

    def records(self, name, kind):
        records = []
        for _ in range(8):
            found = self.lookup("web.example.org" if name.startswith("slow.") else name)
            if found is None:
                return records, 0 if records else 3
            if not found[0][0].isdigit() and ":" not in found[0]:
                records.append(self.record(name, CNAME, write_name(found[0])))
                name = found[0]
                continue
            addresses = [ipaddress.ip_address(each) for each in found]
            return records + [self.record(name, kind, each.packed) for each in addresses
                              if (kind, each.version) in ((A, 4), (AAAA, 6))] + self.other(name, kind), 0
        return records, 0

    def other(self, name, kind):
        if kind == MX:
            return [self.record(name, MX, b"\0\1" + write_name("mail." + name))]
        if kind == TXT:
            return [self.record(name, TXT, b"\5world")]
        return []

    @staticmethod
    def record(name, kind, data, ttl=1):
        return write_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class Udp(asyncio.DatagramProtocol):
    """One socket for each address that is asked, so that the answer comes from there."""

    def __init__(self, zone, to):
        self.zone = zone
        self.to = to

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        try:
            answer, delay = self.zone.answer(data, self.to)
        except (ValueError, IndexError, struct.error):
            return
        asyncio.get_running_loop().call_later(delay, self.transport.sendto, answer, address)


async def serve_tcp(zone, reader, writer):
    try:
        while True:
            size = struct.unpack("!H", await reader.readexactly(2))[0]
            answer, delay = zone.answer(await reader.readexactly(size), writer.get_extra_info("sockname")[0])
            await asyncio.sleep(delay)
            writer.write(struct.pack("!H", len(answer)) + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError, IndexError, struct.error):
        writer.close()


async def serve(loop, journal):
    zone = Zone(journal)
    for address in ("44.10.0.53", "8.8.8.8", "1.1.1.1"):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND
        made.bind((address, 53))
        await loop.create_datagram_endpoint(lambda to=address: Udp(zone, to), sock=made)
    await asyncio.start_server(lambda r, w: serve_tcp(zone, r, w), None, 53)
