"""A headless Chromium, driven over its own DevTools protocol.

Nothing but the browser and `websocket-client` is needed. A page's console errors and exceptions are collected, and a
scenario fails if there are any that it does not expect.
"""
import base64
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Failure(Exception):
    """Something that did not happen, in one sentence."""


def find():
    """The browser's program."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    sys.exit("error: chromium is missing. Install it with: .ci/prerequisites chromium")


class Browser:
    """A browser with a profile of its own, gone when the scenario ends."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="linkspan-browser-")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={self.folder}",
             "--window-size=1280,900", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = pathlib.Path(self.folder, "DevToolsActivePort")
        self.port = until("the browser to start", lambda: file.exists() and file.read_text().splitlines()[:1], 60)[0]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def page(self, dark=False, **options):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request, timeout=30))
        return Page(target["webSocketDebuggerUrl"], dark, **options)


def until(what, test, seconds=30):
    """Asks again and again until there is an answer."""
    end = time.monotonic() + seconds
    while True:
        if answer := test():
            return answer
        if time.monotonic() > end:
            raise Failure(f"waited in vain for {what}")
        time.sleep(0.05)


class Page:
    """One tab."""

    def __init__(self, url, dark=False, width=1280, height=900):
        self.socket = websocket.create_connection(url, timeout=60, suppress_origin=True)
        self.numbers = itertools.count(1)
        self.errors = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.scheme(dark)

    def scheme(self, dark):
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def call(self, method, **parameters):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        kind, details = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif kind == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(value.get("value", "")) for value in details["args"]))
        elif kind == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")

    def open(self, url):
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise Failure(f"{url}: {answer['errorText']}")
        until("the page to load", lambda: self.run("document.readyState") == "complete")

    def run(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failure(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def wait(self, expression, seconds=30):
        """Waits until an expression is true."""
        try:
            return until(expression, lambda: self.run(expression), seconds)
        except Failure:
            raise Failure(f"{expression} did not come true; the page says: {self.run('document.body.innerText')[:2000]}")

    def type(self, selector, text, enter=True):
        """Types as a person would, with key events."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)
        if enter:
            self.press("Enter", "\r")

    def press(self, key, text=""):
        event = {"key": key, "code": key, "windowsVirtualKeyCode": {"Enter": 13, "Tab": 9}.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def shoot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def names(self):
        """The controls without a name that a screen reader could say."""
        self.call("Accessibility.enable")
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "textbox", "searchbox", "combobox", "tab", "checkbox", "link", "table", "image", "log"}
        return [node["role"]["value"] for node in nodes
                if not node.get("ignored") and node["role"]["value"] in roles
                and not node.get("name", {}).get("value") and node["role"]["value"] != "table"]
