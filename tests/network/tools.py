"""Real programs that fetch something from the world (goods.py), as people use them: NAME → the words of a shell in a sandbox.

Each prints `fetched 42`. With `trust` they are told of the world's authority; without, they trust what the sandbox trusts."""

from goods import NAME

TRUST = {"SSL_CERT_FILE": "/tmp/authority.pem", "REQUESTS_CA_BUNDLE": "/tmp/authority.pem", "CURL_CA_BUNDLE": "/tmp/authority.pem",
         "NODE_EXTRA_CA_CERTS": "/tmp/authority.pem", "GIT_SSL_CAINFO": "/tmp/authority.pem", "PIP_CERT": "/tmp/authority.pem",
         "CARGO_HTTP_CAINFO": "/tmp/authority.pem", "npm_config_cafile": "/tmp/authority.pem"}
SITE = "https://web.example.org"

JAVA = """
import java.net.*; import java.net.http.*;
public class Fetch {
  public static void main(String[] words) throws Exception {
    var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("%s/java")).build(),
                                                 HttpResponse.BodyHandlers.ofString());
    System.out.println(answer.body().contains("/java") ? "fetched 42" : answer.body());
  }
}
""" % SITE
GO = f"""package main

import "fmt"
import "web.example.org/{NAME}"

func main() {{ fmt.Println("fetched", {NAME}.Value) }}
"""
WEBSOCKET = """
import socket, ssl, os
s = ssl._create_unverified_context().wrap_socket(socket.create_connection(("web.example.org", 443)), server_hostname="web.example.org")
s.sendall(b"GET /websocket HTTP/1.1\\r\\nHost: web.example.org\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
          b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n")
head = b""
while b"\\r\\n\\r\\n" not in head: head += s.recv(1)
mask = os.urandom(4)
s.sendall(bytes([129, 128 + 2]) + mask + bytes(b ^ mask[i] for i, b in enumerate(b"42")))
print("fetched", s.recv(4)[2:].decode())
"""

FETCH = {
    "curl": f"curl -sSf {SITE}/curl | grep -q /curl && echo fetched 42",
    "wget": f"wget -q -O - $WGET {SITE}/wget | grep -q /wget && echo fetched 42",
    "openssl": f"printf 'GET /openssl HTTP/1.1\\r\\nHost: web.example.org\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet "
               "-verify_return_error -connect web.example.org:443 -servername web.example.org $OPENSSL 2>/dev/null | grep -q /openssl && "
               "echo fetched 42",
    "git": f"git clone -q {SITE}/git/{NAME}.git /tmp/git && grep -q 42 /tmp/git/src/lib.rs && echo fetched 42",
    "pip": f"/usr/bin/python3 -m pip install -q --no-input --disable-pip-version-check --break-system-packages --target /tmp/pip --index-url "
           f"{SITE}/simple/ {NAME} && PYTHONPATH=/tmp/pip /usr/bin/python3 -c 'import {NAME}; print(\"fetched\", {NAME}.VALUE)'",
    "requests": f"/usr/bin/python3 -c 'import requests; requests.get(\"{SITE}/requests\").json()[\"to\"]; print(\"fetched 42\")'",
    "urllib": f"/usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen(\"{SITE}/urllib\").read(); print(\"fetched 42\")'",
    "npm": f"mkdir -p /tmp/npm && cd /tmp/npm && npm install --silent --no-audit --no-fund --registry {SITE}/npm/ {NAME} && "
           f"node -p '\"fetched \" + require(\"{NAME}\")'",
    "node": f"node -e 'fetch(\"{SITE}/node\").then(a => a.json()).then(a => console.log(\"fetched 42\"))'",
    "cargo": f"mkdir -p /tmp/cargo/src && cd /tmp/cargo && echo 'fn main() {{ println!(\"fetched {{}}\", {NAME}::VALUE) }}' > src/main.rs && "
             f"printf '[package]\\nname = \"use\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n[dependencies]\\n{NAME} = "
             f"{{ git = \"{SITE}/git/{NAME}.git\" }}\\n' > Cargo.toml && CARGO_HOME=/tmp/cargo-home /usr/bin/cargo run -q",
    "go": "mkdir -p /tmp/go && cd /tmp/go && cat > main.go && printf 'module use\\n\\nrequire web.example.org/" + NAME + " v1.0.0\\n' > go.mod && "
          f"GOPROXY={SITE}/go GOSUMDB=off GONOSUMDB='*' GOFLAGS=-mod=mod GOPATH=/tmp/gopath GOCACHE=/tmp/gocache go run .",
    "java": "mkdir -p /tmp/java && cat > /tmp/java/Fetch.java && java $JAVA /tmp/java/Fetch.java",
    "websocket": "/usr/bin/python3 -",
    "apt": f"mkdir -p /tmp/apt/lists/partial /tmp/apt/cache/archives/partial && echo 'deb [trusted=yes] {SITE}/apt ./' > /tmp/apt/list && cd /tmp/apt && "
           f"O=\"-qq -o Dir::Etc::sourcelist=/tmp/apt/list -o Dir::Etc::sourceparts=- -o Dir::State::lists=/tmp/apt/lists -o "
           f"Dir::Cache=/tmp/apt/cache -o APT::Sandbox::User=root -o Dir::State::status=/dev/null $APT\" && apt-get $O update && apt-get $O download {NAME} && "
           f"dpkg-deb --fsys-tarfile {NAME}_1.0_all.deb | tar -xO ./usr/share/{NAME}/value | sed 's/^/fetched /'",
}
INPUT = {"go": GO, "java": JAVA, "websocket": WEBSOCKET}
TOLD = {"WGET": "--ca-certificate=/tmp/authority.pem", "OPENSSL": "-CAfile /tmp/authority.pem",
        "APT": "-o Acquire::https::CAInfo=/tmp/authority.pem",
        "JAVA": "-Djavax.net.ssl.trustStore=/tmp/authority.p12 -Djavax.net.ssl.trustStorePassword=changeit"}
