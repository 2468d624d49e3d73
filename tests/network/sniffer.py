"""Writes down where each packet on the world's end of the cable wants to go, as far as the machine sent it."""

import ipaddress
import socket
import struct

ETH_P_ALL = 3
NAMES = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6"}


class Sniffer:
    def __init__(self, journal):
        self.journal = journal
        self.seen = set()

    def start(self, loop):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        self.socket.bind(("cove1", ETH_P_ALL))
        self.socket.setblocking(False)
        loop.add_reader(self.socket, self.drain)

    def drain(self):
        while True:
            try:
                data, address = self.socket.recvfrom(256)
            except BlockingIOError:
                return
            if address[2] != socket.PACKET_OUTGOING:
                self.note(data, address[1])

    def note(self, data, kind):
        if kind == 0x0800 and len(data) >= 20:
            head, protocol, to, sender = (data[0] & 15) * 4, data[9], data[16:20], data[12:16]
        elif kind == 0x86DD and len(data) >= 40:
            head, protocol, to, sender = 40, data[6], data[24:40], data[8:24]
        else:
            return
        to, sender = str(ipaddress.ip_address(to)), str(ipaddress.ip_address(sender))
        if protocol == 58 or to.startswith("ff02:"):  # neighbours of the cable's own
            return
        ports = struct.unpack_from("!HH", data, head) if protocol in (6, 17) and len(data) >= head + 4 else (0, 0)
        packet = (protocol, to, ports[1], sender, ports[0])
        if packet in self.seen and (to, ports[1]) != ("44.10.0.254", 9):
            return
        self.seen.add(packet)
        self.journal.write("packet", protocol=NAMES.get(protocol, str(protocol)), to=to, port=ports[1], sender=sender,
                           text=data[head + 8:].decode(errors="replace") if ports[1] == 9 else "")
