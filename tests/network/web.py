"""The world's HTTP servers: they say what they were asked. HTTP/1.1, with and without TLS."""

import asyncio
import base64
import hashlib
import json
import os
import ssl

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # that the world asks for below /private/
WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Request:
    def __init__(self, method, target, headers, body):
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.target = target
        self.headers = headers
        self.body = body


async def read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {}
    for line in lines[1:-2]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body)


def credentials(header):
    """Bearer as it is, Basic decoded."""
    kind, _, value = header.partition(" ")
    return base64.b64decode(value).decode("latin-1") if kind.lower() == "basic" else value


def respond(status, body, headers=()):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def git_answer(folder, request):
    """What `git http-backend` answers."""
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": folder + "/git", "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "world",
           "PATH_INFO": request.path.removeprefix("/git"), "QUERY_STRING": request.query, "REQUEST_METHOD": request.method,
           "CONTENT_TYPE": request.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(request.body)),
           "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
           "GIT_PROTOCOL": request.headers.get("git-protocol", ""), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
           "GIT_CONFIG_VALUE_0": "*"}
    process = await asyncio.create_subprocess_exec("git", "http-backend", env=env, stdin=asyncio.subprocess.PIPE,
                                                   stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate(request.body)
    head, _, body = said.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    status = next((line[8:] for line in lines if line.startswith("Status: ")), "200 OK")
    return respond(status, body, [line for line in lines if not line.startswith("Status: ")])


class Site:
    def __init__(self, journal, secure, folder):
        self.journal = journal
        self.secure = secure
        self.folder = folder + "/www"

    async def connection(self, reader, writer):
        try:
            while True:
                request = await read_request(reader)
                if not await self.answer(request, reader, writer):
                    break
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError, ssl.SSLError):
            pass
        writer.close()

    async def answer(self, request, reader, writer):
        to = writer.get_extra_info("sockname")
        tls = writer.get_extra_info("ssl_object")
        said = {"to": to[0], "port": to[1], "tls": self.secure, "sni": getattr(tls, "asked_for", None),
                "method": request.method, "target": request.target, "headers": request.headers,
                "body": request.body[:2000].decode("latin-1"), "length": len(request.body)}
        self.journal.write("http", **said)
        if (answer := await self.stored(request)) is not None:
            writer.write(answer)
            await writer.drain()
            return True
        page = getattr(self, "get_" + request.path.split("/")[1].replace("-", "_"), None)
        if page:
            return await page(request, reader, writer)
        if request.headers.get("authorization", "").startswith("Refused"):
            writer.write(respond("401 Unauthorized", b"", ['WWW-Authenticate: Basic realm="world"']))
        else:
            body = b"" if request.method == "HEAD" else json.dumps(said).encode()
            writer.write(respond("200 OK", body, ["Content-Type: application/json"]))
        await writer.drain()
        return request.headers.get("connection") != "close"

    async def stored(self, request):
        """A file, or git's answer; below /private/ only with the token."""
        path = request.path
        if path.startswith("/private/"):
            if TOKEN not in credentials(request.headers.get("authorization", "")):
                return respond("401 Unauthorized", b"", ['WWW-Authenticate: Basic realm="world"'])
            path = path.removeprefix("/private")
        if path.startswith("/git/"):
            request.path = path
            return await git_answer(self.folder, request)
        file = os.path.normpath(self.folder + path)
        if os.path.isdir(file):
            file += "/index.html"
        if not file.startswith(self.folder + "/") or not os.path.isfile(file):
            return respond("404 Not Found", b"") if os.path.isdir(self.folder + "/" + path.split("/")[1]) and path != "/" else None
        with open(file, "rb") as opened:
            data = opened.read()
        kind = "text/html" if "/simple/" in file and file.endswith(".html") else "application/octet-stream"
        return respond("200 OK", b"" if request.method == "HEAD" else data, [f"Content-Type: {kind}"])

    async def get_redirect(self, request, reader, writer):
        """/redirect?URL"""
        writer.write(respond("302 Found", b"", ["Location: " + request.query]))
        await writer.drain()
        return True

    async def get_bytes(self, request, reader, writer):
        """/bytes/COUNT: that many, as one body."""
        left = int(request.path.split("/")[2])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
        piece = bytes(range(256)) * 256
        while left > 0:
            writer.write(piece[:left])
            left -= len(piece)
            await writer.drain()
        return True

    async def get_drip(self, request, reader, writer):
        """/drip/COUNT: a byte every 50 ms, chunked."""
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(int(request.path.split("/")[2])):
            writer.write(b"1\r\n.\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def get_events(self, request, reader, writer):
        """/events/COUNT: Server-Sent Events, 100 ms apart."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for number in range(int(request.path.split("/")[2])):
            writer.write(b"data: %d\n\n" % number)
            await writer.drain()
            await asyncio.sleep(0.1)
        return False

    async def get_websocket(self, request, reader, writer):
        """Sends each small frame back, unmasked."""
        key = request.headers["sec-websocket-key"].encode()
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET).digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            first, second = await reader.readexactly(2)
            mask = await reader.readexactly(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(await reader.readexactly(second & 127)))
            writer.write(bytes([first, len(data)]) + data)
            await writer.drain()
            if first & 15 == 8:
                return False



def tls_context(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
    return context


async def serve(folder, journal):
    context, stranger = tls_context(folder, "server"), tls_context(folder, "stranger")

    def choose(tls, name, _):
        tls.asked_for = name
        if name == "untrusted.example.org":
            tls.context = stranger

    context.sni_callback = choose
    for port in (80, 8080):
        await asyncio.start_server(Site(journal, False, folder).connection, None, port)
    for port in (443, 8443):
        await asyncio.start_server(Site(journal, True, folder).connection, None, port, ssl=context)
