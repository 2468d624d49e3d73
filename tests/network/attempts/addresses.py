"""Names that are allowed, and lead to addresses that are not; addresses in other spellings."""

import subprocess

from tries import *

NAMES = ("private", "loop", "loop6", "metadata", "mapped", "nat64", "local6", "machine", "machine6", "zero", "broadcast",
         "multicast", "synthetic", "alias-private", "alias-loop")


def make(name):
    def through():
        return http(name + ".example.org", 9999 if name.startswith("machine") else 80)
    through.__name__ = "name_of_" + name.replace("-", "_")
    return through


for each in NAMES:
    attempt(make(each))


@attempt
def rebound_name():
    """Public when it is asked for, loopback when it is connected to."""
    http("rebind.example.org")
    import time
    time.sleep(2.2)  # longer than the answer may be kept
    return http("rebind.example.org", 9999)


@attempt
def one_address_of_two_is_private():
    data = http("mixed.example.org")
    return data if b"10.20.0.1" in data.split(b'"to"')[1][:30] else None


@attempt
def metadata():
    return http("169.254.169.254", name="169.254.169.254")


@attempt
def metadata_under_an_allowed_name():
    data = http("169.254.169.254", name=WEB_NAME)
    return data if b'"to": "169.254' in data else None


@attempt
def metadata_six():
    return http("fd00:ec2::254", name="[fd00:ec2::254]")


@attempt
def metadata_of_a_container():
    return http("169.254.170.2", name="169.254.170.2")


@attempt
def private_address():
    return http("10.20.0.1")


@attempt
def machine_itself():
    return exchange(connect("44.10.0.1", 9999), CANARY.encode())


@attempt
def machine_itself_six():
    return exchange(connect("2a0f:10::1", 9999), CANARY.encode())


@attempt
def loopback_of_the_machine():
    return exchange(connect("127.0.0.1", 9999), CANARY.encode())


@attempt
def loopback_of_the_machine_by_another_name():
    return exchange(connect("127.0.0.2", 9999), CANARY.encode())


@attempt
def loopback_six_of_the_machine():
    return exchange(connect("::1", 9999), CANARY.encode())


@attempt
def link_local():
    return http("fe80::1%lo", name="x")


def spelled(name, host):
    def through():
        done = subprocess.run(["curl", "-sS", "-g", "-m", "8", f"http://{host}:9999/{CANARY}"], capture_output=True, check=False)
        if done.returncode or done.stdout.startswith(b'{"error":'):
            raise OSError((done.stderr + done.stdout).decode())
        return done.stdout
    through.__name__ = "spelled_" + name
    return through


for label, text in (("decimal", "2130706433"), ("octal", "0177.0.0.1"), ("hexadecimal", "0x7f.0.0.1"), ("short", "127.1"),
                    ("machine_decimal", "738852865"), ("mapped", "[::ffff:127.0.0.1]"), ("compatible", "[::127.0.0.1]"),
                    ("nat64", "[64:ff9b::2c0a:1]"), ("six_to_four", "[2002:2c0a:1::1]")):
    attempt(spelled(label, text))


def through_proxy(name, host):
    def through():
        data = exchange(connect(GATEWAY, 3128), f"CONNECT {host}:9999 HTTP/1.1\r\nHost: {host}:9999\r\n\r\n".encode())
        if b" 200 " in data[:20]:
            return data
        raise OSError(data[:60])
    through.__name__ = "proxy_" + name
    return through


for label, text in (("loopback", "127.0.0.1"), ("machine", "44.10.0.1"), ("decimal", "2130706433"), ("octal", "0177.0.0.1"),
                    ("six", "[::1]"), ("mapped", "[::ffff:127.0.0.1]"), ("metadata", "169.254.169.254"), ("zero", "0.0.0.0"),
                    ("localhost", "localhost"), ("zone", "[fe80::1%25lo]")):
    attempt(through_proxy(label, text))

main()
