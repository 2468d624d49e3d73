"""A server for the inside of a sandbox: answers as tests want it. inside.py PORT"""

import base64
import hashlib
import socket
import struct
import sys
import threading

PORT = int(sys.argv[1])
released = threading.Event()
gone = threading.Event()
heads = []


class Request:
    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")
        lines = []
        while (line := self.file.readline()) not in (b"\r\n", b""):
            lines.append(line)
        self.head = b"".join(lines)
        self.path = lines[0].split()[1].decode() if lines else ""
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            self.headers[name.decode().lower()] = value.strip().decode()

    def pieces(self):
        """The body, as it comes."""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.file.readline(), 16):
                yield self.file.read(size)
                self.file.readline()
            self.file.readline()
        left = int(self.headers.get("content-length", 0))
        while left and (piece := self.file.read1(min(left, 65536))):
            left -= len(piece)
            yield piece

    def send(self, data):
        self.connection.sendall(data)

    def answer(self, body, *headers, status="200 OK"):
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        self.send("\r\n".join(lines).encode() + body)


def head(request):
    request.answer(request.head, "Content-Type: text/plain")


def echo(request):
    request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for piece in request.pieces():
        request.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    request.send(b"0\r\n\r\n")


def sink(request):
    digest, size = hashlib.sha256(), 0
    for piece in request.pieces():
        digest.update(piece)
        size += len(piece)
    request.answer(f"{size} {digest.hexdigest()}".encode())


def big(request):
    size = int(request.path.split("?")[1])
    request.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    piece = bytes(65536)
    while size:
        request.send(piece[: min(size, len(piece))])
        size -= min(size, len(piece))


def events(request):
    request.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: first\n\n")
    released.wait()
    request.send(b"data: second\n\n")


def release(request):
    released.set()
    request.answer(b"")


def wait_for_end(request):
    """Begins an answer, and notes when the other side has gone."""
    request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
    request.file.read()
    gone.set()


def was_gone(request):
    request.answer(b"yes" if gone.wait(20) else b"no")


def cookies(request):
    request.answer(b"", "Set-Cookie: mine=1; Domain=localhost; Path=/", "Set-Cookie: cove_preview=stolen", "Set-Cookie: other=2; HttpOnly")


def redirect(request):
    request.answer(b"", f"Location: http://localhost:{PORT}/landed", status="302 Found")


def early(request):
    request.answer(b"too much", "Connection: close", status="413 Content Too Large")


def announced(request):
    request.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    if request.headers.get("expect") == "100-continue":
        request.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    sink(request)


def refuse_body(request):
    request.answer(b"", "Connection: close", status="417 Expectation Failed")


def until_close(request):
    request.send(b"HTTP/1.0 200 OK\r\n\r\nto the end")


def cut_short(request):
    request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.")


def garbage(request):
    request.send(b"SSH-2.0-OpenSSH_9.2\r\n")


def two_lengths(request):
    request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")


def silence(request):
    pass


def count(request):
    request.answer("\n".join(heads).encode())


def websocket(request):
    accept = hashlib.sha1((request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    # What it says first goes out together with the handshake.
    request.send(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
        + base64.b64encode(accept) + b"\r\n\r\n\x81\x05hello")
    while len(start := request.file.read(2)) == 2:
        size = start[1] & 127
        if size == 126:
            size = struct.unpack(">H", request.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", request.file.read(8))[0]
        mask = request.file.read(4)
        data = request.file.read(size)
        data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size)
        request.send(bytes([start[0]]) + length + data)
        if start[0] & 15 == 8:
            return


PATHS = {
    "/head": head, "/echo": echo, "/sink": sink, "/big": big, "/events": events, "/release": release, "/wait": wait_for_end,
    "/was_gone": was_gone, "/cookies": cookies, "/redirect": redirect, "/early": early, "/announced": announced,
    "/refuse_body": refuse_body, "/until_close": until_close, "/cut_short": cut_short, "/garbage": garbage,
    "/two_lengths": two_lengths, "/silence": silence, "/count": count, "/ws": websocket,
}


def serve(connection):
    with connection:
        try:
            request = Request(connection)
            heads.append(request.head.split(b"\r\n")[0].decode(errors="replace"))
            PATHS.get(request.path.split("?")[0], head)(request)
        except OSError:
            pass


def main():
    listener = socket.create_server(("127.0.0.1", PORT))
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


main()
