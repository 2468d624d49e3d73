"""The servers of the world (world.py): outside.py FOLDER READY-FD. What reaches them is written to FOLDER/journal."""

import asyncio
import os
import socket
import sys

import names
import web
from journal import Journal
from sniffer import Sniffer

ECHO_PORTS = (7, 22, 25, 5432, 6379, 9418)


async def echo(journal, reader, writer):
    """Sends a line first, as ssh and databases do, then sends back what it gets."""
    name = writer.get_extra_info("sockname")
    journal.write("tcp", to=name[0], port=name[1])
    try:
        writer.write(b"hello from %s port %d\n" % (name[0].encode(), name[1]))
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
    except ConnectionError:
        pass


class UdpEcho(asyncio.DatagramProtocol):
    def __init__(self, journal):
        self.journal = journal

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.journal.write("udp", text=data[:200].decode(errors="replace"))
        if self.transport.get_extra_info("sockname")[1] != 9:  # discard, as that port's service does
            self.transport.sendto(data, address)


async def main(folder, ready):
    loop = asyncio.get_running_loop()
    journal = Journal(folder + "/journal")
    Sniffer(journal).start(loop)
    await names.serve(loop, journal)
    await web.serve(folder, journal)
    for port in ECHO_PORTS:
        await asyncio.start_server(lambda r, w: echo(journal, r, w), None, port)
    for port in (9, 443, 4000):
        await loop.create_datagram_endpoint(lambda: UdpEcho(journal), local_addr=("0.0.0.0", port))
    os.write(ready, b"ready")
    os.close(ready)
    await asyncio.Event().wait()


socket.setdefaulttimeout(None)
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
