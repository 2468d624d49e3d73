"""A token server as registries send their callers to: it sells tokens to whoever may have them."""

import base64
import http.server
import json
import subprocess
import threading
import time
import urllib.parse
import uuid

SERVICE, ISSUER = "cove-test-registry", "cove-test-issuer"


def words64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """Repositories below public/ are everybody's; the others are for the accounts (name → password), or for who has the
    identity token."""

    def __init__(self, folder, accounts, identity):
        self.key, self.certificate = f"{folder}/token.key", f"{folder}/token.crt"
        self.accounts, self.identity = accounts, identity
        self.asked = []  # (method, scope, granted)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.certificate,
                        "-days", "2", "-subj", "/CN=cove-test"], check=True, capture_output=True)
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner.answer(self, urllib.parse.urlsplit(self.path).query, owner.knows(self.headers.get("Authorization", "")))

            def do_POST(self):
                form = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
                fields = urllib.parse.parse_qs(form)
                owner.answer(self, form, fields.get("grant_type") == ["refresh_token"] and fields.get("refresh_token") == [owner.identity])

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.realm = f"http://127.0.0.1:{self.server.server_port}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def knows(self, header):
        if not header.startswith("Basic "):
            return False
        name, _, password = base64.b64decode(header[6:]).decode().partition(":")
        return self.accounts.get(name) == password

    def answer(self, handler, query, known):
        fields = urllib.parse.parse_qs(query)
        scopes = [scope.split(":") for words in fields.get("scope", []) for scope in words.split(" ")]
        granted = fields.get("service") == [SERVICE] and all(known or name.startswith("public/") for _, name, _ in scopes)
        self.asked.append((handler.command, fields.get("scope"), granted))
        token = self.token(scopes) if granted else ""
        body = json.dumps({"token": token, "access_token": token, "expires_in": 300} if granted else {"details": "no"}).encode()
        handler.send_response(200 if granted else 401)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def token(self, scopes):
        with open(self.certificate) as file:
            certificate = "".join(line for line in file.read().split("\n") if "-----" not in line)
        now = int(time.time())
        header = {"typ": "JWT", "alg": "RS256", "x5c": [certificate]}
        claims = {"iss": ISSUER, "sub": "", "aud": SERVICE, "exp": now + 300, "nbf": now - 30, "iat": now, "jti": uuid.uuid4().hex,
                  "access": [{"type": kind, "name": name, "actions": actions.split(",")} for kind, name, actions in scopes]}
        text = f"{words64(json.dumps(header).encode())}.{words64(json.dumps(claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        return f"{text}.{words64(signature)}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
