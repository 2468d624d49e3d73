"""A real registry on the loopback: Debian's docker-registry."""

import os
import socket
import subprocess
import time
import urllib.request

CONFIG = """version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}/registry
http:
  addr: 127.0.0.1:{port}
{auth}log:
  level: error
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Registry:
    def __init__(self, folder, user=None, password=None):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        auth = ""
        if user:
            hashed = subprocess.run(["htpasswd", "-Bbn", user, password], stdout=subprocess.PIPE, check=True).stdout
            with open(os.path.join(folder, "htpasswd"), "wb") as file:
                file.write(hashed)
            auth = f"auth:\n  htpasswd:\n    realm: test\n    path: {folder}/htpasswd\n"
        config = os.path.join(folder, "registry.yml")
        with open(config, "w") as file:
            file.write(CONFIG.format(folder=folder, port=self.port, auth=auth))
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
