"""A real registry on the loopback: Debian's docker-registry."""

import os
import socket
import subprocess
import time
import urllib.request

import tokens

CONFIG = """version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}/registry
http:
  addr: 127.0.0.1:{port}
{tls}{auth}log:
  level: error
"""
BY_PASSWORD = "auth:\n  htpasswd:\n    realm: test\n    path: {folder}/htpasswd\n"
BY_TOKEN = ("auth:\n  token:\n    realm: {realm}\n    service: " + tokens.SERVICE + "\n    issuer: " + tokens.ISSUER +
            "\n    rootcertbundle: {certificate}\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def bcrypt(password):
    """As the registry wants it; the library that knows how is at hand in perl."""
    words = ["perl", "-e", "print crypt($ARGV[0], q($2y$05$) . q(a) x 22)", password]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode()


class Registry:
    """Everybody's; or for the accounts (name → password); or for who has a token of that server. With a certificate (its file and
    that of the key) it speaks TLS only."""

    def __init__(self, folder, accounts=None, token_server=None, certificate=None):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        auth = ""
        if accounts:
            with open(os.path.join(folder, "htpasswd"), "w") as file:
                for name, password in accounts.items():
                    file.write(f"{name}:{bcrypt(password)}\n")
            auth = BY_PASSWORD.format(folder=folder)
        elif token_server:
            auth = BY_TOKEN.format(realm=token_server.realm, certificate=token_server.certificate)
        config = os.path.join(folder, "registry.yml")
        with open(config, "w") as file:
            tls = "  tls:\n    certificate: {}\n    key: {}\n".format(*certificate) if certificate else ""
            file.write(CONFIG.format(folder=folder, port=self.port, auth=auth, tls=tls))
        self.process = subprocess.Popen(["docker-registry", "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()

    def wait(self):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://{self.address}/v2/", timeout=2)
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("docker-registry does not come up")

    def push(self, layout, name, target, *more):
        subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", *more, f"oci:{layout}:{name}", f"docker://{self.address}/{target}"],
                       check=True)

    def stop(self):
        self.process.kill()
        self.process.wait()
