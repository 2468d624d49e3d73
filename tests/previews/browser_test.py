"""Previews in a real browser: see run."""

import json
import sys

import runner
from browser import Browser
from house import HERE, House

PORT = 5173


class Pair:
    """Two sandboxes with a development server each, and a browser."""

    def __init__(self, house, browser):
        self.house = house
        self.browser = browser
        self.first, self.second = self.make("first"), self.make("second")

    def make(self, name):
        sandbox = self.house.sandbox()
        sandbox.put("dev_server.mjs", (HERE / "dev_server.mjs").read_text())
        sandbox.put("page.html", f"<title>{name}</title><h1>one</h1>")
        sandbox.start("node", "dev_server.mjs", str(PORT))
        sandbox.await_port(PORT)
        return sandbox

    def open(self, sandbox):
        page = self.browser.page()
        page.go(sandbox.link(PORT)["url"])
        return page


def origin(sandbox):
    return f"http://{sandbox.host(PORT)}"


def test_a_page_reloads_when_a_file_changes(pair):
    page = pair.open(pair.first)
    assert page.wait("document.querySelector('h1')?.textContent") == "one"
    # The token is gone from the address, and no script can read the cookie that it became.
    assert page.run("location.href") == f"{origin(pair.first)}/"
    assert page.run("document.cookie") == "" and page.run("document.referrer") == ""
    page.run("window.before = true")
    for text in ("two", "three"):
        page.wait("window.changes?.readyState === WebSocket.OPEN")
        pair.first.put("page.html", f"<title>first</title><h1>{text}</h1>")
        page.wait(f"document.querySelector('h1')?.textContent === '{text}'")
    assert page.run("window.before") is None


def test_the_cookie_is_not_seen_inside(pair):
    page = pair.open(pair.first)
    page.run("document.cookie = 'mine=1'")
    page.run("fetch('/noted').then((response) => response.status)")
    seen = [one for one in json.loads(page.run("fetch('/seen').then((response) => response.text())")) if one["url"] == "/noted"]
    assert seen and seen[-1]["cookie"] == "mine=1", seen
    assert all("cove_" not in json.dumps(one) for one in seen)


def test_two_sandboxes_share_nothing(pair):
    first = pair.open(pair.first)
    first.run("document.cookie = 'secret=first; path=/'; document.cookie = 'wide=first; path=/; domain=localhost'; localStorage.secret = 'first'")
    second = pair.open(pair.second)
    assert "first" not in second.run("document.cookie") and second.run("localStorage.secret") is None
    second.run("fetch('/noted').then((response) => response.status)")
    seen = second.run("fetch('/seen').then((response) => response.text())")
    assert "first" not in seen and "cove_" not in seen, seen
    # Nor does the second get at the first with the visitor's rights: over fetch, a WebSocket, or a frame.
    address = json.dumps(f"{origin(pair.first)}/seen")
    assert second.run(f"fetch({address}, {{credentials: 'include'}}).then(() => 'read', () => 'refused')") == "refused"
    socket = json.dumps(f"ws://{pair.first.host(PORT)}/changes")
    assert second.run(f"new Promise((done) => {{ const s = new WebSocket({socket}); s.onopen = () => done('open'); s.onerror = () => done('refused'); }})") == "refused"
    framed = second.run(f"""new Promise((done) => {{
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.onload = () => {{ try {{ done(frame.contentDocument ? 'read' : 'closed'); }} catch {{ done('closed'); }} }};
      frame.src = {address};
    }})""")
    assert framed == "closed", framed


def test_a_link_to_another_sandbox_tells_nothing(pair):
    pair.open(pair.second)  # so that there is a cookie for it
    first = pair.open(pair.first)
    first.run(f"location.href = '{origin(pair.second)}/from-the-first'")
    first.wait(f"location.href === '{origin(pair.second)}/from-the-first' && document.readyState === 'complete'")
    seen = [one for one in json.loads(first.run("fetch('/seen').then((response) => response.text())")) if one["url"] == "/from-the-first"]
    assert seen and seen[-1]["referer"] == "" and first.run("document.referrer") == "", seen


def test_without_a_link_there_is_a_page_that_helps(pair):
    page = pair.browser.page()
    page.go(f"http://{pair.first.host(PORT + 1)}/")
    assert "cove ports" in page.run("document.body.textContent")


def main():
    with House(sys.argv[1]) as house, Browser() as browser:
        return runner.run(sys.modules[__name__], Pair(house, browser), sys.argv[2] if len(sys.argv) > 2 else "")


if __name__ == "__main__":
    sys.exit(main())
