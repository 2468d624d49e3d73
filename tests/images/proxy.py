"""A bad line to a registry: it sees every request, and can break, stall, forget ranges and send elsewhere."""

import http.client
import http.server
import threading

PIECE = 64 << 10


class Proxy:
    def __init__(self, target, address="127.0.0.1"):
        self.target = target
        self.seen = []  # (path, Range, Authorization), in their order
        self.lock = threading.Lock()
        self.breaks = []  # of the next blobs: after how many bytes the connection ends
        self.stall_at = None  # bytes of a blob after which nothing more comes, until `go_on`
        self.stalled, self.go_on = threading.Event(), threading.Event()
        self.ranges = True
        self.elsewhere = None  # address that blobs are redirected to
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    owner.pass_on(self)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True
        self.address = f"{address}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pass_on(self, handler):
        path, is_blob = handler.path, "/blobs/" in handler.path
        with self.lock:
            self.seen.append((path, handler.headers.get("Range"), handler.headers.get("Authorization")))
        if is_blob and self.elsewhere:
            handler.send_response(307)
            handler.send_header("Location", f"http://{self.elsewhere}{path}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("host", "connection")}
        if not self.ranges:
            headers.pop("Range", None)
        connection = http.client.HTTPConnection(self.target)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() in ("content-type", "content-length", "content-range", "www-authenticate", "docker-content-digest"):
                handler.send_header(name, value)
        handler.end_headers()
        self.pour(handler, answer, is_blob and answer.status in (200, 206) and int(answer.headers["Content-Length"]) > PIECE)
        connection.close()

    def pour(self, handler, answer, is_large):
        with self.lock:
            most = self.breaks.pop(0) if is_large and self.breaks else None
        sent = 0
        while piece := answer.read(PIECE):
            if is_large and self.stall_at is not None and sent >= self.stall_at and not self.go_on.is_set():
                self.stalled.set()
                self.go_on.wait(60)
            if most is not None and sent >= most:
                handler.close_connection = True
                return
            handler.wfile.write(piece)
            sent += len(piece)

    def blobs(self, digest):
        """The requests for a blob: the ranges that were asked for."""
        return [wanted for path, wanted, _ in self.seen if path.endswith(digest)]

    def stop(self):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
