"""Registries that lie, for hostile_images.py: each case is what one of them answers, by path."""

import hashlib
import http.server
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "images"))
import layouts
from layouts import CONFIG_TYPE, INDEX_TYPE, LAYER_TYPE, MANIFEST_TYPE, Layer

MOST_SENT = 64 << 20  # of an answer that does not end
ENDLESS = object()
SOUND = "registry is sound"


class HostileRegistry:
    """Answers by the part of the path behind the name of the repository: (status, headers, body)."""

    def __init__(self, answers):
        self.asked = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner.asked.append(self.path)
                wanted = self.path.split("/x/", 1)[-1]
                status, headers, body = next((answer for path, answer in answers.items() if wanted.startswith(path)), (404, {}, b""))
                try:
                    owner.send(self, status, headers, body)
                except OSError:
                    pass  # the one who asked has had enough

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def send(self, handler, status, headers, body):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value.replace("HERE", self.address))
        handler.end_headers()
        if body is not ENDLESS:
            handler.wfile.write(body)
            return
        for _ in range(MOST_SENT >> 16):
            handler.wfile.write(b" " * (1 << 16))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def answer(data, **headers):
    return (200, headers, data)


def image(layer_change=None, served=None):
    """What a registry has of a sound image that nobody has yet; `layer_change` is what the manifest says of its layer, `served` what
    it sends for it."""
    archive = Layer().folder("a").file("a/f", os.urandom(3000)).archive()
    config = json.dumps(layouts.config_of([archive])).encode()
    layer = {"mediaType": LAYER_TYPE, "digest": digest(archive), "size": len(archive), **(layer_change or {})}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": [layer],
                           "config": {"mediaType": CONFIG_TYPE, "digest": digest(config), "size": len(config)}}).encode()
    return {"manifests/1": answer(manifest), f"blobs/{digest(config)}": answer(config),
            "blobs/": served or answer(archive)}


def index_of(reference):
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [
        {"mediaType": INDEX_TYPE, "digest": reference, "size": 200,
         "platform": {"os": "linux", "architecture": layouts.ARCHITECTURE}}]}).encode()


def cases():
    """(what is wrong, what it answers). All are to be refused, but for SOUND: so the others are refused for what they are."""
    yield SOUND, image()
    yield "registry's manifest does not end", {"manifests/1": (200, {}, ENDLESS)}
    yield "registry's manifest has another digest", {"manifests/1": answer(index_of("sha256:" + "2" * 64)), "manifests/": answer(b"{}")}
    circle = index_of("sha256:" + "3" * 64)
    yield "registry's indexes go in a circle", {"manifests/": answer(circle)}
    yield "registry's manifest is nonsense", {"manifests/1": answer(os.urandom(4096))}
    yield "registry sends in a circle", {"manifests/1": (307, {"Location": "http://HERE/v2/x/manifests/1"}, b"")}
    yield "registry sends to a file", {"manifests/1": (307, {"Location": "file:///etc/passwd"}, b"")}
    yield "registry's layer is another one", image(served=answer(Layer().folder("evil").file("f", b"y" * 3000).archive()))
    yield "registry's layer does not end", image(served=(200, {}, ENDLESS))
    yield "registry's layer is said to be short", image({"size": 100})
    yield "registry's layer is said to be long", image({"size": 1 << 40})
    yield "registry sends a layer to a file", image(served=(307, {"Location": "file:///etc/shadow"}, b""))
    yield "registry's tokens are in a file", {"manifests/1": (401, {"WWW-Authenticate": 'Bearer realm="file:///etc/shadow"'}, b"")}
    yield "registry's token does not end", {"manifests/1": (401, {"WWW-Authenticate": 'Bearer realm="http://HERE/v2/x/token"'}, b""),
                                            "token": (200, {}, ENDLESS)}
    yield "registry's challenge makes no sense", {"manifests/1": (401, {"WWW-Authenticate": 'Bearer realm="' + "," * 5000}, b"")}
