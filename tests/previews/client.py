"""HTTP by hand: requests as they are written, answers as they come."""

import socket


class Answer:
    def __init__(self, status, headers, body, whole):
        self.status = status
        self.headers = headers  # a list of pairs, names in small letters
        self.body = body
        self.whole = whole

    def header(self, name):
        return next((value for key, value in self.headers if key == name), None)

    def all(self, name):
        return [value for key, value in self.headers if key == name]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]}"


class Connection:
    def __init__(self, port, wrap=lambda sock: sock):
        self.sock = wrap(socket.create_connection(("127.0.0.1", port), timeout=60))
        self.file = self.sock.makefile("rb")

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def ask(self, method, path, host, headers=(), body=b"", length=True):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
        if body and length:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join([*lines, "", ""]).encode() + body)
        return self

    def head(self):
        line = self.file.readline()
        if not line:
            return None, []
        headers = []
        while (text := self.file.readline().decode().rstrip("\r\n")):
            name, _, value = text.partition(":")
            headers.append((name.lower(), value.strip()))
        return int(line.split()[1]), headers

    def pieces(self, headers):
        """The body as it comes; raises EOFError where it is cut short."""
        told = dict(headers)
        if told.get("transfer-encoding") == "chunked":
            while True:
                line = self.file.readline()
                if not line:
                    raise EOFError
                size = int(line, 16)
                data = self.file.read(size)
                if len(data) < size:
                    raise EOFError
                self.file.readline()
                if not size:
                    return
                yield data
        left = int(told.get("content-length", 0))
        while left:
            data = self.file.read1(min(left, 1 << 16))
            if not data:
                raise EOFError
            left -= len(data)
            yield data

    def answer(self, method="GET"):
        status, headers = self.head()
        while status == 100:
            status, headers = self.head()
        body, whole = b"", True
        try:
            if method != "HEAD" and status not in (None, 204, 304):
                for piece in self.pieces(headers):
                    body += piece
        except EOFError:
            whole = False
        return Answer(status, headers, body, whole)

    def close(self):
        self.file.close()
        self.sock.close()


def fetch(port, method, path, host, headers=(), body=b"", wrap=lambda sock: sock):
    connection = Connection(port, wrap)
    answer = connection.ask(method, path, host, headers, body).answer(method)
    connection.close()
    return answer
