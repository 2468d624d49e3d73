"""Previews and forwarded ports, through a real server: see run."""

import base64
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

import runner
from client import Connection, fetch
from house import House

MEGABYTE = 1 << 20
BROWSER = ("Accept: text/html,*/*", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none")


class Served:
    """One sandbox with inside.py for all tests, whose port is public, and one that is private."""

    def __init__(self, house):
        self.house = house
        self.open = house.sandbox()
        self.open.serve()
        self.open.access(8080, "public")
        self.closed = house.sandbox()
        self.closed.serve()

    def get(self, path, *headers, method="GET", body=b""):
        return fetch(self.house.port, method, path, self.open.host(), headers, body)


# --- passing on ------------------------------------------------------------------------------------------------------
def test_a_request_arrives_as_it_was_sent(served):
    head = served.get("/head?a=%20&b", "X-Mine: 1", "Cookie: a=1", "Authorization: Basic eDp5").body.decode()
    host = served.open.host()
    assert head.startswith(f"GET /head?a=%20&b HTTP/1.1\r\nHost: {host}\r\n"), head
    for line in ("X-Mine: 1", "Cookie: a=1", "Authorization: Basic eDp5", f"X-Forwarded-Host: {host}", "X-Forwarded-Proto: http",
                 "X-Forwarded-For: 127.0.0.1", "Connection: close"):
        assert f"{line}\r\n" in head, (line, head)


def test_bodies_of_both_kinds_come_back_whole(served):
    # It comes back while it is sent: a client that does not read meanwhile blocks itself.
    body = os.urandom(3 * MEGABYTE)
    connection = Connection(served.house.port)
    with concurrent.futures.ThreadPoolExecutor(1) as sender:
        sender.submit(connection.ask, "POST", "/echo", served.open.host(), (), body)
        assert connection.answer().body == body
    connection = Connection(served.house.port)
    connection.ask("POST", "/echo", served.open.host(), ["Transfer-Encoding: chunked"])
    for piece in (b"one", b"", b"three" * 1000):
        if piece:
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    connection.send(b"0\r\n\r\n")
    assert connection.answer().body == b"one" + b"three" * 1000
    # The connection is kept for the next request.
    assert connection.ask("GET", "/head", served.open.host()).answer().status == 200
    connection.close()


def test_a_piece_arrives_before_the_next_is_sent(served):
    connection = Connection(served.house.port)
    connection.ask("POST", "/echo", served.open.host(), ["Transfer-Encoding: chunked"])
    status, headers = connection.head()
    back = connection.pieces(headers)
    for piece in (b"one", b"two"):
        connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        assert next(back) == piece
    connection.send(b"0\r\n\r\n")
    assert status == 200 and next(back, None) is None
    connection.close()


def test_events_arrive_before_the_end(served):
    connection = Connection(served.house.port)
    connection.ask("GET", "/events", served.open.host())
    _, headers = connection.head()
    pieces = connection.pieces(headers)
    assert next(pieces) == b"data: first\n\n"
    served.get("/release")
    assert b"".join(pieces) == b"data: second\n\n"


def test_twenty_megabytes_each_way(served):
    body = os.urandom(MEGABYTE) * 20
    assert served.get("/sink", method="POST", body=body).body.decode() == f"{len(body)} {hashlib.sha256(body).hexdigest()}"
    answer = served.get(f"/big?{20 * MEGABYTE}")
    assert answer.whole and len(answer.body) == 20 * MEGABYTE


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def test_a_reader_that_stops_costs_little_memory(served):
    coved = served.house.coved()
    before = resident(coved)
    stuck = [Connection(served.house.port).ask("GET", f"/big?{200 * MEGABYTE}", served.open.host()) for _ in range(8)]
    for connection in stuck:
        connection.head()
    # Until nothing moves any more: the sandbox's server waits for room.
    last = None
    while (now := served.open.run("cat", "/proc/net/tcp")) != last:
        last = now
    assert resident(coved) - before < 32 * MEGABYTE, resident(coved) - before
    for connection in stuck:
        connection.close()


def test_whoever_goes_is_missed_inside(served):
    connection = Connection(served.house.port)
    connection.ask("GET", "/wait", served.open.host())
    connection.head()
    connection.close()
    assert served.get("/was_gone").body == b"yes"


def test_methods_and_statuses(served):
    answer = fetch(served.house.port, "HEAD", "/big?1000", served.open.host())
    assert (answer.status, answer.header("content-length"), answer.body) == (200, "1000", b""), answer
    assert b"PROPFIND /head" in served.get("/head", method="PROPFIND").body
    assert b"OPTIONS * HTTP/1.1" in served.get("*", method="OPTIONS").body
    for method in ("CONNECT", "TRACE"):
        assert served.get("/", method=method).status == 405
    assert served.get("/until_close").body == b"to the end"
    assert served.get("/redirect").header("location") == f"http://{served.open.host()}/landed"


def test_an_answer_that_comes_early_ends_the_upload(served):
    connection = Connection(served.house.port)
    connection.ask("POST", "/early", served.open.host(), [f"Content-Length: {1 << 40}"])
    answer = connection.answer()
    assert (answer.status, answer.body, answer.header("connection")) == (413, b"too much", "close"), answer


def test_the_server_inside_decides_whether_a_body_comes(served):
    connection = Connection(served.house.port)
    connection.ask("POST", "/announced", served.open.host(), ["Expect: 100-continue", "Content-Length: 4"])
    assert connection.head()[0] == 100
    connection.send(b"body")
    assert connection.answer().body.startswith(b"4 ")
    connection.ask("POST", "/refuse_body", served.open.host(), ["Expect: 100-continue", "Content-Length: 4"])
    assert connection.head()[0] == 417
    # One that does not know the question is asked nothing else: the body follows after a while.
    other = Connection(served.house.port)
    other.ask("POST", "/sink", served.open.host(), ["Expect: 100-continue", "Content-Length: 4"])
    assert other.head()[0] == 100
    other.send(b"body")
    assert other.answer().body.startswith(b"4 ")


def test_broken_servers_are_told_of(served):
    for path in ("/garbage", "/two_lengths", "/silence"):
        answer = served.get(path)
        assert answer.status == 502 and b"the server inside" in answer.body, (path, answer)
    assert not served.get("/cut_short").whole


def frame(opcode, data):
    size = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, len(data)) if len(data) > 125 else bytes([0x80 | opcode, 0x80 | len(data)])
    mask = os.urandom(4)
    return size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


def read_frame(connection):
    first, size = connection.file.read(2)
    if size == 126:
        size = struct.unpack(">H", connection.file.read(2))[0]
    return first & 15, connection.file.read(size)


def handshake(connection, host, *headers):
    key = base64.b64encode(os.urandom(16)).decode()
    connection.ask("GET", "/ws", host, ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *headers])
    return connection.head()


def test_websockets(served):
    connection = Connection(served.house.port)
    status, headers = handshake(connection, served.open.host())
    assert status == 101 and dict(headers)["upgrade"] == "websocket", headers
    assert read_frame(connection) == (1, b"hello")
    for data in (b"a", b"x" * 100, os.urandom(60000)):
        connection.send(frame(2, data))
        assert read_frame(connection) == (2, data)
    connection.send(frame(8, b""))
    assert read_frame(connection)[0] == 8
    assert connection.file.read() == b""


# --- smuggling -------------------------------------------------------------------------------------------------------
HIDDEN = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
SMUGGLED = {
    "both framings": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nContent-Length: {len(HIDDEN) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two lengths": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "a list of lengths": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0, {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "a length with a sign": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nContent-Length: +0\r\n\r\n{HIDDEN}",
    "an unknown coding": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two codings": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a blank before the colon": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a folded header": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a bare line feed": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nX: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a bare return": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a NUL": f"POST /smuggle HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n\r\n{HIDDEN}",
    "two hosts": f"GET /smuggle HTTP/1.1\r\nHost: HOST\r\nHost: other\r\n\r\n{HIDDEN}",
    "chunks in HTTP/1.0": f"POST /smuggle HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "a version to come": f"GET /smuggle HTTP/2.0\r\nHost: HOST\r\n\r\n{HIDDEN}",
}
# Those that begin well.
SMUGGLED_BODIES = {
    "a size with a sign": "+0\r\n\r\n",
    "a size in two ways": "0x0\r\n\r\n",
    "a size that overflows": "10000000000000000\r\n\r\n",
    "a chunk that is longer": "1\r\nab\r\n0\r\n\r\n",
    "a size that ends with a line feed": "0\n\r\n",
    "a trailer that frames": f"0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n",
}


def asked_inside(served):
    return served.get("/count").body.decode().split("\n")


def test_smuggled_requests_do_not_arrive(served):
    host = served.open.host()
    for name, text in SMUGGLED.items():
        connection = Connection(served.house.port)
        connection.send(text.replace("HOST", host))
        answer = connection.answer()
        assert answer.status in (400, 501, 505), (name, answer)
        assert connection.file.read() == b"", name
    for name, text in SMUGGLED_BODIES.items():
        connection = Connection(served.house.port)
        connection.send(f"POST /sink HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{text}{HIDDEN}")
        answer = connection.answer()
        assert answer.status in (400, None), (name, answer)
    asked = asked_inside(served)
    assert not any("/hidden" in line or "/smuggle" in line for line in asked), asked


def test_what_looks_like_framing_is_not_passed_on(served):
    head = served.get("/head", "Transfer_Encoding: chunked", "Content_Length: 5", "Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: 5",
                      "Proxy-Authorization: x", "TE: trailers", "Upgrade: h2c", "HTTP2-Settings: AAA").body.decode().lower()
    for name in ("transfer", "content_length", "x-hop", "keep-alive", "proxy-", "te:", "h2c", "http2"):
        assert name not in head, (name, head)


# --- who is let in ---------------------------------------------------------------------------------------------------
def test_a_private_port_wants_a_key_or_a_token(served):
    house, closed = served.house, served.closed
    key = house.call("POST", "/v1/keys", {"name": "previews", "scopes": ["run"]})["key"]
    reader = house.call("POST", "/v1/keys", {"name": "reader", "scopes": ["read"]})["key"]
    house.call("POST", "/v1/projects", {"id": "elsewhere"})
    token = closed.link()["token"]

    def status(*headers, path="/head", sandbox=closed):
        return fetch(house.port, "GET", path, sandbox.host(), headers).status

    assert status() == 401
    assert status(f"Authorization: Bearer {key}") == 200
    assert status(f"X-API-Key: {key}") == 200
    assert status(f"Authorization: Bearer {token}") == 200
    assert status(path=f"/head?cove_token={token}") == 200
    assert status(f"Cookie: cove_preview={token}") == 200
    for bad in (f"Authorization: Bearer {key[:-1]}{'1' if key.endswith('0') else '0'}", f"Authorization: Bearer {reader}", f"Authorization: Bearer {token}x", "Cookie: cove_preview=", f"Cookie: cove_previews={token}"):
        assert status(bad) == 401, bad
    # Of another port, another sandbox, and a time that is over.
    assert status(f"Cookie: cove_preview={closed.link(8081)['token']}") == 401
    assert status(f"Cookie: cove_preview={served.open.link()['token']}") == 401
    short = closed.link(ttl=1)["token"]
    while status(f"Cookie: cove_preview={short}") != 401:
        pass
    # What let it in is not seen inside, and neither is what would have.
    for headers, path in (((f"Authorization: Bearer {key}", f"X-API-Key: {key}", f"Cookie: a=1; cove_preview={token}", f"Referer: http://{closed.host()}/?cove_token={token}"), "/head"),
                          ((), f"/head?x=1&cove_token={token}")):
        head = fetch(house.port, "GET", path, closed.host(), headers).body.decode()
        assert key not in head and "cvp_" not in head and "cove_token" not in head, head
    # Only tokens; then all earlier tokens are over.
    closed.access(8080, "token")
    assert status(f"Authorization: Bearer {key}") == 401 and status(f"Cookie: cove_preview={token}") == 401
    assert status(f"Cookie: cove_preview={closed.link()['token']}") == 200
    closed.access(8080, "private")


def test_a_link_becomes_a_cookie(served):
    link = served.closed.link()
    path = re.sub("^http://[^/]+", "", link["url"])
    host = served.closed.host()
    answer = fetch(served.house.port, "GET", f"/head{path[1:]}&x=1", host, BROWSER)
    assert (answer.status, answer.header("location")) == (303, f"http://{host}/head?x=1"), answer
    cookie = answer.header("set-cookie")
    attributes = {word.strip().lower() for word in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= attributes and not any(word.startswith("domain") for word in attributes), cookie
    assert answer.header("referrer-policy") == "no-referrer" and answer.header("cache-control") == "no-store"
    page = fetch(served.house.port, "GET", "/head", host, (*BROWSER, f"Cookie: {cookie.split(';')[0]}"))
    assert page.status == 200 and page.header("referrer-policy") == "same-origin" and b"cove_preview" not in page.body, page
    # A path that would lead elsewhere does not.
    away = fetch(served.house.port, "GET", f"//evil.example/{path[1:]}", host, BROWSER)
    assert away.header("location") == f"http://{host}//evil.example/", away
    # With a wrong one there is a page that says what to do.
    wrong = fetch(served.house.port, "GET", "/?cove_token=cvp_x.y", host, BROWSER)
    assert wrong.status == 401 and b"<!doctype html>" in wrong.body and b"cove ports" in wrong.body and wrong.header("set-cookie") is None


def test_other_pages_cannot_use_the_cookie(served):
    cookie = f"Cookie: cove_preview={served.closed.link()['token']}"
    host = served.closed.host()
    status = lambda *headers, method="GET": fetch(served.house.port, method, "/head", host, (cookie, *headers)).status
    other = f"http://{served.open.host()}"
    assert status(f"Origin: http://{host}", "Sec-Fetch-Site: same-origin", method="POST") == 200
    assert status(f"Origin: {other}", method="POST") == 401
    assert status("Origin: null") == 401
    assert status("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image") == 401
    assert status("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe") == 401
    assert status("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document") == 200
    assert handshake(Connection(served.house.port), host, cookie, f"Origin: {other}")[0] == 401
    assert handshake(Connection(served.house.port), host, cookie, f"Origin: http://{host}")[0] == 101


def test_cookies_stay_with_their_host(served):
    cookies = served.get("/cookies").all("set-cookie")
    assert cookies == ["mine=1; Path=/", "other=2; HttpOnly"], cookies


def test_hosts_do_not_mix(served):
    house = served.house
    key = house.call("POST", "/v1/keys", {"name": "hosts", "scopes": ["admin"]})["key"]
    # A preview's host has nothing of the API.
    for path in ("/v1/sandboxes", "/v1/health/live"):
        assert b"X-Forwarded-Host" in fetch(house.port, "GET", path, served.open.host(), [f"Authorization: Bearer {key}"]).body
    # The listener of previews serves no other host, whatever is shown.
    for host in (f"localhost:{house.port}", "127.0.0.1", "evil.example", f"8080-{served.open.id}.localhost.evil.example", f"8080-{served.open.id}.localhost.",
                 f"x.8080-{served.open.id}.localhost", f"08080-{served.open.id}.localhost", ""):
        answer = fetch(house.port, "GET", "/v1/sandboxes", host, [f"Authorization: Bearer {key}"])
        assert answer.status == 421, (host, answer)
    absolute = Connection(house.port).ask("GET", f"http://{served.closed.host()}/head", served.open.host()).answer()
    assert absolute.status == 401, absolute
    assert fetch(house.port, "GET", "/", "8080-nosuchsandbox.localhost").status == 404


# --- nothing there ---------------------------------------------------------------------------------------------------
def test_nothing_listens(served):
    served.open.access(9090, "private")
    token = served.open.link(9090)["token"]
    page = fetch(served.house.port, "GET", "/", served.open.host(9090), (*BROWSER, f"Cookie: cove_preview={token}"))
    assert page.status == 502 and b"http-equiv=refresh" in page.body and b"8080  python3 inside.py" in page.body, page
    text = fetch(served.house.port, "GET", "/", served.open.host(9090), (f"Cookie: cove_preview={token}",))
    assert text.status == 502 and b"nothing listens" in text.body and b"listening: 8080" in text.body and b"<" not in text.body, text
    # Anyone may learn that nothing is there, but no more.
    served.open.access(9090, "public")
    assert b"8080" not in fetch(served.house.port, "GET", "/", served.open.host(9090)).body.replace(b"9090", b"")


def test_a_sandbox_that_does_not_run(served):
    house = served.house
    for verb, back, auto in (("pause", "resume", False), ("stop", "start", False), ("pause", "", True)):
        sandbox = house.sandbox(lifecycle={"auto_resume": auto})
        sandbox.serve()
        sandbox.access(8080, "public")
        house.call("POST", f"{sandbox.path}/{verb}", {})
        answer = fetch(house.port, "GET", "/head", sandbox.host())
        if auto:
            assert answer.status == 200, answer
        else:
            assert answer.status == 503 and sandbox.id.encode() in answer.body and back.encode() in answer.body, answer
        house.call("DELETE", sandbox.path)
        assert fetch(house.port, "GET", "/head", sandbox.host()).status == 404


def test_a_removed_sandbox_ends_its_connections(served):
    sandbox = served.house.sandbox()
    sandbox.serve()
    sandbox.access(8080, "public")
    connection = Connection(served.house.port)
    assert handshake(connection, sandbox.host())[0] == 101
    assert read_frame(connection) == (1, b"hello")
    served.house.call("DELETE", sandbox.path)
    assert connection.file.read() == b""


def test_the_url_is_known_inside(served):
    url = served.closed.run("sh", "-c", "echo $COVE_PREVIEW_URL").strip()
    assert url.replace("{port}", "8080") == f"http://{served.closed.host()}/", url


def test_an_ipv6_listener_is_reached(served):
    sandbox = served.house.sandbox()
    sandbox.start("python3", "-m", "http.server", "8000", "--bind", "::1")
    sandbox.await_port(8000)
    sandbox.access(8000, "public")
    assert fetch(served.house.port, "GET", "/", sandbox.host(8000)).status == 200


def test_links_and_access_survive_the_server(served):
    house = served.house
    token = served.closed.link()["token"]
    port = house.port
    house.stop()
    house.start()
    assert house.port == port  # nobody took it meanwhile
    assert served.get("/head").status == 200
    assert fetch(port, "GET", "/head", served.closed.host(), [f"Cookie: cove_preview={token}"]).status == 200


# --- cove ports, cove forward ----------------------------------------------------------------------------------------
def test_cove_ports(served):
    house, closed = served.house, served.closed
    listed = house.cove("ports", closed.id)
    assert listed.returncode == 0, listed
    line = next(line for line in listed.stdout.splitlines() if line.startswith("8080 "))
    link = line.split()[-1]
    assert "python3 inside.py 8080" in line and link.startswith(f"http://{closed.host()}/?cove_token="), line
    assert fetch(house.port, "GET", re.sub("^http://[^/]+", "", link), closed.host()).status == 200
    public = json.loads(house.cove("ports", "--json", "--public", "8080", closed.id).stdout)
    assert (public[0]["access"], public[0]["link"]) == ("public", f"http://{closed.host()}/"), public
    house.cove("ports", "--private", "8080", closed.id)
    assert fetch(house.port, "GET", "/head", closed.host()).status == 401
    wrong = house.cove("ports", "--public", "70000", closed.id)
    assert wrong.returncode == 125 and "70000" in wrong.stderr, wrong


class Forward:
    def __init__(self, house, *words, **env):
        environment = {**os.environ, "COVE_HOST": f"unix:{house.socket}", **env}
        self.process = subprocess.Popen([f"{house.build}/cove", "forward", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
        self.process.stderr.close()


SHOUT = """
import socket, threading
def serve(c):
    data = b''
    while piece := c.recv(65536):
        data += piece
    c.sendall(data.upper())
    c.close()
server = socket.create_server(('127.0.0.1', 7000))
while True:
    threading.Thread(target=serve, args=(server.accept()[0],)).start()
"""


def shout(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        sock.sendall(text)
        sock.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def test_cove_forward(served):
    house, closed = served.house, served.closed
    closed.start("python3", "-c", SHOUT)
    closed.await_port(7000)
    with Forward(house, closed.id, "0:7000") as forward:
        assert shout(forward.port, b"a" * 5_000_000) == b"A" * 5_000_000
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            assert all(answer == b"X%d" % i for i, answer in enumerate(pool.map(lambda i: shout(forward.port, b"x%d" % i), range(40))))
        taken = house.cove("forward", closed.id, f"{forward.port}:7000")
        assert taken.returncode == 125 and f"127.0.0.1:{forward.port}" in taken.stderr and "0:7000" in taken.stderr, taken
        # Ctrl-C ends it.
        forward.process.send_signal(2)
        assert forward.process.wait(20) != 0
    with Forward(house, closed.id, "0:7001") as forward:
        try:
            assert shout(forward.port, b"x") == b""
        except ConnectionError:
            pass
        assert "7001" in forward.process.stderr.readline()
    for words, told in (((closed.id, "x"), "[LOCAL:]PORT"), ((closed.id, "1:0"), "[LOCAL:]PORT"), (("nosuchbox", "0:1"), "nosuchbox")):
        refused = house.cove("forward", *words)
        assert refused.returncode == 125 and told in refused.stderr, refused
    stopped = house.sandbox(start=False)
    refused = house.cove("forward", stopped.id, "0:7000")
    assert refused.returncode == 125 and "stopped" in refused.stderr and "cove start" in refused.stderr, refused


# --- TLS, and a domain of one's own -----------------------------------------------------------------------------------
def test_a_domain_with_tls(served):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=previews",
                        "-addext", "subjectAltName=DNS:*.preview.test,DNS:localhost", "-keyout", f"{folder}/key", "-out", f"{folder}/cert"], check=True, capture_output=True)
        context = ssl.create_default_context(cafile=f"{folder}/cert")
        with House(served.house.build, "--listen", "tcp:127.0.0.1:0", "--tls-cert", f"{folder}/cert", "--tls-key", f"{folder}/key", "--set", "preview.domain=preview.test") as house:
            sandbox = house.sandbox()
            sandbox.serve()
            name = f"8080-{sandbox.id}.preview.test"
            wrap = lambda sock: context.wrap_socket(sock, server_hostname=name)
            host = f"{name}:{house.port}"
            link = sandbox.link()["url"]
            assert link.startswith(f"https://{host}/?cove_token="), link
            path = link.removeprefix(f"https://{host}")
            answer = fetch(house.port, "GET", path, host, BROWSER, wrap=wrap)
            cookie = answer.header("set-cookie")
            assert answer.status == 303 and cookie.startswith("__Host-cove_preview=") and "; Secure" in cookie, answer
            headers = (f"Cookie: {cookie.split(';')[0]}",)
            assert b"X-Forwarded-Proto: https" in fetch(house.port, "GET", "/head", host, headers, wrap=wrap).body
            body = os.urandom(5 * MEGABYTE)
            answer = fetch(house.port, "POST", "/sink", host, headers, body, wrap)
            assert answer.body.decode() == f"{len(body)} {hashlib.sha256(body).hexdigest()}", answer
            assert len(fetch(house.port, "GET", f"/big?{5 * MEGABYTE}", host, headers, wrap=wrap).body) == 5 * MEGABYTE
            connection = Connection(house.port, wrap)
            assert handshake(connection, host, *headers)[0] == 101
            assert read_frame(connection) == (1, b"hello")
            connection.send(frame(1, b"over TLS"))
            assert read_frame(connection) == (1, b"over TLS")
            connection.close()
            # The API is at its own names only.
            plain = lambda sock: context.wrap_socket(sock, server_hostname="localhost")
            assert fetch(house.port, "GET", "/v1/health/live", f"localhost:{house.port}", wrap=plain).status == 200
            assert fetch(house.port, "GET", "/v1/health/live", f"preview.test:{house.port}", wrap=plain).status == 403
            forwards_over_tls(house, sandbox, f"{folder}/cert")


def forwards_over_tls(house, sandbox, certificate):
    key = house.call("POST", "/v1/keys", {"name": "tls", "scopes": ["run"]})["key"]
    sandbox.start("python3", "-c", SHOUT)
    sandbox.await_port(7000)
    with Forward(house, sandbox.id, "0:7000", COVE_HOST=f"https://localhost:{house.port}", COVE_API_KEY=key, COVE_CACERT=certificate) as forward:
        assert shout(forward.port, b"a" * 3_000_000) == b"A" * 3_000_000


def main():
    with House(sys.argv[1]) as house:
        return runner.run(sys.modules[__name__], Served(house), sys.argv[2] if len(sys.argv) > 2 else "")


if __name__ == "__main__":
    sys.exit(main())
