"""Chromium without a window, driven over a pipe with its DevTools protocol."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 60
# --no-sandbox: its own sandbox does not work for root.
WORDS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--remote-debugging-pipe")


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cove-chromium-")
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        high = [os.dup(theirs_in), os.dup(theirs_out)]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        log = open(f"{self.folder}/log", "wb")
        self.process = subprocess.Popen(["chromium", *WORDS, f"--user-data-dir={self.folder}/profile", "about:blank"], env={**os.environ, "HOME": self.folder},
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, close_fds=False, preexec_fn=place, start_new_session=True)
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.number = 0
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def receive(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self.back, 1 << 16)
            if not piece:
                raise RuntimeError(f"Chromium ended: {open(f'{self.folder}/log').read()[-2000:]}")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def go(self, url):
        result = self.browser.call("Page.navigate", self.session, url=url)
        assert "errorText" not in result, result
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script):
        """The value of an expression; promises are awaited."""
        result = self.browser.call("Runtime.evaluate", self.session, expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if value := self.run(script):
                    return value
            except (RuntimeError, AssertionError):  # the page goes away meanwhile
                pass
            assert time.monotonic() < until, f"never true: {script}; the page is {self.run('document.documentElement.outerHTML')}"
            time.sleep(0.05)
