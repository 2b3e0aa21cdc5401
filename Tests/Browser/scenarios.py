#!/usr/bin/env python3
"""Drives the inspector's page and the chat's page in a real browser.

    Tests/Browser/scenarios.py --chat PROGRAM --tool PROGRAM [--shots FOLDER] [inspector | chat | foreign | pictures | conversation] …

Starts the servers and terminals that it needs with the chat and the tool, and prints one line for each scenario that went well.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

from chromium import Browser, Failure, until


class Program:
    """A process with the lines that it has written."""

    running = []

    def __init__(self, *command, **environment):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LINKSPAN_")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=inherited | environment)
        self.lines = []
        Program.running.append(self)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def type(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, pattern, seconds=60):
        """The first line in which a pattern is found."""
        try:
            return until(pattern, lambda: next(filter(None, (re.search(pattern, line) for line in self.lines)), None), seconds)
        except Failure:
            raise Failure(f"no line with {pattern} among {self.lines}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    @classmethod
    def end(cls):
        for program in cls.running:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        cls.running = []


class Stage:
    """A chat server, and what joins it."""

    def __init__(self, chat, tool, shots):
        self.chat, self.tool, self.shots = chat, tool, shots
        self.port = 0
        self.serve()

    def serve(self):
        self.server = Program(self.chat, "serve", "--port", str(self.port))
        self.port = int(self.server.wait(r"serving .* on [\d.]+:(\d+)")[1])

    def join(self, name, **environment):
        program = Program(
            self.chat, "join", "--name", name, "--transport", "websocket", "--url", f"ws://127.0.0.1:{self.port}",
            **environment)
        program.wait(r"^\* connected over websocket")
        return program

    def inspected(self, name, faults="true"):
        program = self.join(
            name, LINKSPAN_SERVICES_ADD="inspector", LINKSPAN_SERVICES_INSPECTOR_FAULTS=faults)
        return program, program.wait(r"inspector: (http://127\.0\.0\.1:\d+/\?token=\w+)")[1]

    def probe(self, name, *lines):
        """Sends events as a person in the lobby, and returns when the server has answered them all."""
        auth = json.dumps({"name": name, "rooms": ["lobby"]})
        commands = [part for line in lines for part in ("-x", line)]
        program = Program(self.tool, "probe", f"http://127.0.0.1:{self.port}", "--auth", auth, *commands)
        check(program.process.wait(60) == 0, f"the probe failed: {program.lines}")

    def shoot(self, page, name):
        if not self.shots:
            return
        pathlib.Path(self.shots).mkdir(parents=True, exist_ok=True)
        for dark in (False, True):
            page.scheme(dark)
            page.shoot(pathlib.Path(self.shots, f"{name}-{'dark' if dark else 'light'}.png"))
        page.scheme(False)


def check(condition, what):
    if not condition:
        raise Failure(what)


CONNECTED = "!!document.querySelector('#connection-rows .state[data-state=connected]')"


def inspector(stage, browser):
    """An outage of the demo is seen with its reason, countdown, gap and return."""
    ann, url = stage.inspected("ann")
    page = browser.page(width=1400, height=1500)
    page.open(url)
    page.wait(CONNECTED)
    check("token" not in page.run("location.href"), "the address still has the token")
    check(page.run("document.documentElement.outerHTML.length") < 400_000, "the page grows")

    for number in range(20):
        ann.type(f"line {number}")
    page.wait("state.totals.sent >= 20")
    page.wait("document.querySelectorAll('#p-frames tbody tr').length > 0")
    frames = page.text("#p-frames")
    check("say" in frames, f"no frame of a line among {frames}")
    check("line 7" not in frames, "a payload is shown")

    # Ten seconds of the chart with a connection, before there is none.
    page.wait("state.points.filter((point) => point.connected).length > 11")
    charts(page)
    stage.server.type("restart 8")
    page.wait("!!document.querySelector('#connection-rows .state[data-state=reconnecting]')")
    page.wait(r"/^Attempt \d+ in \d+\.\d s$/.test(document.getElementById('countdown').innerText)")
    page.wait("document.getElementById('why').innerText.includes('The reason:')")
    page.wait("Number(document.querySelector('#chart-round-trip svg').dataset.gaps) > 0")
    page.wait("state.events.some((event) => event.kind === 'reconnecting')")
    page.wait("!!document.querySelector('#timeline .s-reconnecting')")
    # The latest values stay, with their age.
    page.wait(r"/^reply [\d.]+ ms \d+ s ago$/.test(document.querySelector('#chart-round-trip .key').innerText)")
    page.wait("document.querySelector('#chart-queue .down')?.textContent === 'down'")
    faint = looks(page)
    check(faint == [], f"in an outage: {faint}")
    page.wait(CONNECTED)
    page.wait("document.getElementById('countdown').hidden")
    page.wait("/: connected/.test(document.getElementById('histories').getAttribute('aria-label'))")
    page.wait("Number(document.querySelector('#chart-round-trip svg').dataset.gaps) > 0")

    faults(stage, page, ann)
    # A gap and a move differ in shape and in colour, in the time line and in each chart.
    for place in ("#timeline", "#chart-queue"):
        page.wait(f"document.querySelector('{place} path.gap') && !!document.querySelector('{place} path.move')")
        kinds = [page.run(f"(() => {{ const mark = document.querySelector('{place} path.{kind}'); return"
                          " [mark.getAttribute('d').replace(/[\\d.]/g, ''), getComputedStyle(mark).fill]; })()")
                 for kind in ("gap", "move")]
        check(all(one != other for one, other in zip(*kinds)), f"a gap is like a move: {kinds}")
    lists(page)
    faint = looks(page)
    check(faint == [], f"after a gap and a move: {faint}")
    check(page.names() == [], f"controls without a name: {page.names()}")
    report = page.run("fetch('/report', { headers: { Authorization: `Bearer ${key}` } }).then((answer) => answer.text())")
    check("entries" in report and "State: connected" in report, f"the report is {report[:200]}")
    page.open(page.run("location.href"))
    page.wait(CONNECTED)
    check(page.errors == [], f"errors on the console: {page.errors}")


def charts(page):
    """Charts fill their width, have units, times and the values at the pointer."""
    check(page.run("CHARTS.every((chart) => chart.figure.hidden || Math.abs(chart.start - chart.points[0].time) < 2000)"), "the axis is too long")
    for chart, unit in (("round-trip", r"\d ms$"), ("throughput", r"\d /s$"), ("queue", r"^\d+$"), ("memory", r" MiB$")):
        labels = page.run(f"[...document.querySelectorAll('#chart-{chart} svg text')].map((text) => text.textContent)")
        check(any(re.search(unit, label) for label in labels), f"{chart} has no unit: {labels}")
        check(any(re.search(r"^\d\d:\d\d", label) for label in labels), f"{chart} has no time: {labels}")
    place = page.run("(() => { const { x, y, width, height } = document.querySelector('#chart-throughput svg')"
                     ".getBoundingClientRect(); return [x + width * 0.7, y + height / 2]; })()")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    page.wait(r"/^\d\d:\d\d:\d\d\nreceived: [\d.]+ \/s\nsent: [\d.]+ \/s$/"
              ".test(document.querySelector('#chart-throughput .tip').innerText)")
    check(page.run("document.querySelectorAll('.cross').length > 5"), "the time is not shown in the other charts")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    page.wait("document.querySelectorAll('.cross').length === 0")
    page.run("document.querySelector('#chart-memory svg').focus()")
    page.press("ArrowLeft")
    page.wait("document.querySelector('#chart-memory .tip').innerText.includes('resident: ')")
    page.run("document.activeElement.blur()")


# The texts whose contrast to their ground is less than 4.5 to 1.
FAINT = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => colour.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = (element) => {
    const colour = element ? numbers(getComputedStyle(element).backgroundColor) : [255, 255, 255];
    return colour.length === 4 && colour[3] < 1 ? ground(element.parentElement) : colour;
  };
  return [...document.querySelectorAll('body *')].filter((element) => element.getClientRects().length
    && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())).map((element) => {
      const { color, fill } = getComputedStyle(element);
      const [one, two] = [numbers(element instanceof SVGElement ? fill : color), ground(element)].map(light);
      return [(Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05), element.textContent.slice(0, 40)];
    }).filter(([contrast]) => contrast < 4.5);
})()"""

# What is wider than the section that it stands in, but for boxes that scroll.
WIDE = """[...document.querySelectorAll('section *')].filter((element) => {
  if (element.parentElement.closest('.scroll')) return false;
  return element.getBoundingClientRect().right > element.closest('section').getBoundingClientRect().right + 0.5;
}).map((element) => element.outerHTML.slice(0, 80))"""


def looks(page):
    """What is faint, in light and dark, or too wide, also on a phone."""
    faults = []
    for width in (1400, 390):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=1500, deviceScaleFactor=1, mobile=False)
        page.wait(f"Math.abs(CHARTS[0].width - CHARTS[0].box.clientWidth) < 1 && innerWidth === {width}")
        for dark in (False, True):
            page.scheme(dark)
            faults += page.run(FAINT)
        for tab in ("events", "services", "settings", "frames"):
            page.click(f"#t-{tab}")
            page.wait(f"!!document.querySelector('#p-{tab} tbody tr')")
            faults += page.run(WIDE)
            wide = page.run("document.scrollingElement.scrollWidth")
            faults += [f"the page is {wide} wide"] if wide > width else []
            # A table folds, so that nothing of it has to be scrolled to.
            faults += page.run("[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth)"
                               ".map((box) => `${box.id} scrolls sideways`)")
    page.call("Emulation.setDeviceMetricsOverride", width=1400, height=1500, deviceScaleFactor=1, mobile=False)
    page.scheme(False)
    return faults


def faults(stage, page, ann):
    """The fault switches do what they say."""
    page.wait("!document.getElementById('faults').hidden")
    page.click("[data-do=drop]")
    page.wait("state.events.some((event) => event.text.includes('the inspector dropped the link'))")
    page.wait(CONNECTED)
    page.click("[data-do=pathLost]")
    page.wait("state.connections.get(state.selected).error === 'pathLost'")
    page.click("[data-do=pathBack]")
    # The move is one of a link that is up.
    page.wait("state.connections.get(state.selected).state === 'connected'")
    page.wait("!!document.querySelector('[data-move=socketio]')")
    page.click("[data-move=socketio]")
    page.wait("state.connections.get(state.selected).transport === 'socketio'")
    page.wait(CONNECTED)
    ann.type("over another transport")
    page.wait("state.connections.get(state.selected).waiting === 0")


def lists(page):
    """Tabs are reached by keyboard; filters leave what they name."""
    page.run("document.getElementById('t-frames').focus()")
    page.press("ArrowRight")
    page.wait("document.activeElement.id === 't-events' && !document.getElementById('p-events').hidden")
    page.type("#find", "reconnecting", enter=False)
    page.wait("[...document.querySelectorAll('#p-events tbody tr')].every((row) => row.innerText.includes('reconnecting'))")
    page.run("document.getElementById('find').value = ''")
    page.click("#t-services")
    page.wait("document.getElementById('p-services').innerText.includes('services.inspector')")
    page.click("#t-settings")
    page.wait("document.getElementById('p-settings').innerText.includes('LINKSPAN_SERVICES_ADD')"
              " || document.getElementById('p-settings').innerText.includes('linkspan.transport')")
    page.click("#t-frames")


def foreign(stage, browser):
    """Pages of other origins, other host names and used tokens get nothing."""
    ann, url = stage.inspected("ann", faults="false")
    port = re.search(r":(\d+)/", url)[1]
    page = browser.page()
    # The chat's page is of another origin: the same address, another port.
    page.open(f"http://127.0.0.1:{stage.port}/")
    for path in ("/", "/snapshot", "/report", f"/?{url.split('?')[1]}"):
        for mode in ("cors", "no-cors"):
            got = page.run(
                f"fetch('http://127.0.0.1:{port}{path}', {{ mode: '{mode}' }}).then((a) => a.text(), () => '')")
            check(got == "", f"another origin reads {path}: {got[:80]}")
    got = page.run(
        f"new Promise((done) => {{ const s = new WebSocket('ws://127.0.0.1:{port}/feed');"
        " s.onopen = () => done('open'); s.onerror = () => done('refused'); })")
    check(got == "refused", f"another origin opens the feed: {got}")
    page.open(f"http://rebound.localhost:{port}/?{url.split('?')[1]}")
    check("Linkspan inspector" not in page.run("document.title"), "another host name shows the page")
    page.open(url)
    page.wait(CONNECTED)
    check(page.run("document.getElementById('faults').hidden"), "faults are offered that are not allowed")
    other = browser.page()
    other.open(url)
    # The browser has the cookie, which opens the empty page.
    other.wait("document.getElementById('feed').innerText.includes('Open the URL')")
    check(other.run("state.connections.size") == 0, "the token works twice")
    # Until somebody asked, the terminal showed no URL that works.
    urls = until("another URL", lambda: (found := [line for line in ann.lines if "/?token=" in line])[1:] and found)
    check(len(urls) == 2, f"the URLs are {urls}")
    other.open(urls[1].removeprefix("inspector: "))
    other.wait(CONNECTED)


def chat(stage, browser):
    """A page and a terminal meet in one room, and both survive a restart of the server."""
    ann = stage.join("ann")
    ann.type("before the guest came")
    page = browser.page(width=1000, height=680)
    page.open(f"http://127.0.0.1:{stage.port}/")
    page.type("#name", "web")
    page.wait("document.getElementById('status').dataset.state === 'in'")
    page.wait("document.getElementById('lines').innerText.includes('before the guest came')")
    page.wait("document.getElementById('people').innerText.includes('ann')")
    ann.wait("web")

    ann.type("hello, page")
    page.wait("document.getElementById('lines').innerText.includes('hello, page')")
    page.run("document.getElementById('text').value = ''")
    page.type("#text", "hello, terminal")
    ann.wait("hello, terminal")
    page.wait("!document.querySelector('#lines .waiting')")

    stage.probe("bob", '? msg {"to":"web","text":"psst","id":"1"}', '? msg {"to":"web","text":"psst","id":"1"}',
                '? topic {"room":"lobby","topic":"cats"}', '? topic {"room":"lobby","topic":""}',
                '? topic {"room":"lobby","topic":"dogs"}')
    page.wait("document.getElementById('lines').innerText.includes('bob set the topic: dogs')")
    lines = page.text("#lines").splitlines()
    for text in ("bob to you alone: psst", "bob set the topic: cats", "bob removed the topic"):
        check(lines.count(text) == 1, f"'{text}' is not there once: {lines}")

    # A text is shown as a terminal shows it, with its links, and nothing is wider than a phone.
    stage.probe("bob", r'? say {"room":"lobby","text":"a\u202eb\u0007 https://x.example/y.","id":"2"}')
    page.wait("document.querySelector('#lines a')?.href === 'https://x.example/y'")
    check("a\ufffdb\ufffd https://x.example/y." in page.text("#lines"), f"the text is {page.text('#lines')}")

    other = browser.page(width=390, height=760)
    other.open(f"http://127.0.0.1:{stage.port}/")
    other.type("#name", "eve")
    other.wait("document.getElementById('people').offsetHeight > 0 && document.documentElement.scrollWidth <= 390")
    stage.shoot(other, "phone")
    other.wait("document.getElementById('lines').innerText.includes('The topic: dogs')")
    page.wait("document.getElementById('people').innerText.includes('eve')")
    other.type("#text", "…", enter=False)
    page.wait("document.getElementById('typing').innerText.includes('eve is typing')")

    # The process goes on, and has the history.
    stage.server.type("restart 2")
    page.wait("document.getElementById('status').innerText.includes('trying again')")
    page.type("#text", "said during the outage")
    page.wait("!!document.querySelector('#lines .waiting')")
    page.wait("document.getElementById('status').dataset.state === 'in'")
    page.wait("!document.querySelector('#lines .waiting')")
    ann.wait("said during the outage")
    count = page.run("document.getElementById('lines').innerText.split('hello, page').length - 1")
    check(count == 1, f"a line is shown {count} times")

    # The process is killed, and another one has no history.
    stage.server.kill()
    page.wait("document.getElementById('status').dataset.state === 'down'")
    stage.serve()
    page.wait("document.getElementById('status').dataset.state === 'in'", 60)
    # What is said before somebody is back in a room without a history is not repeated.
    ann.wait("lines may have been missed")
    page.wait("document.getElementById('lines').innerText.includes('lines may be missing here')")
    page.type("#text", "after the crash")
    ann.wait("after the crash")
    check(page.names() == [], f"controls without a name: {page.names()}")
    lost = [error for error in page.errors if "ERR_CONNECTION" not in error and "WebSocket" not in error]
    check(lost == [], f"errors on the console: {lost}")

    refused = browser.page()
    refused.open(f"http://127.0.0.1:{stage.port}/")
    stage.server.type("refuse on")
    # Lines are obeyed one after the other, so that the complaint about the next one says that this one was.
    stage.server.type("?")
    stage.server.wait("unknown fault")
    refused.type("#name", "mallory")
    refused.wait("document.getElementById('refusal').innerText !== ''")


def pictures(stage, browser):
    """Five minutes of a room with an outage, a move and a dropped link, for README."""
    ann, url = stage.inspected("ann")
    bob = stage.join("bob")
    page = browser.page(width=1400, height=1412)
    page.call("Emulation.setScrollbarsHidden", hidden=True)
    page.open(url)
    page.wait(CONNECTED)
    chance = random.Random(17)
    start = time.monotonic()
    steps = [
        (70, lambda: stage.server.type("restart 25")), (180, lambda: page.click("[data-move=socketio]")),
        (235, lambda: page.click("[data-do=drop]"))]
    number = 0
    while (now := time.monotonic() - start) < 290:
        if steps and now >= steps[0][0]:
            steps.pop(0)[1]()
        # Busier and calmer by turns.
        for _ in range(chance.randint(0, 2 + int(4 * (1 + math.sin(now / 18))))):
            number += 1
            (ann if chance.random() < 0.6 else bob).type(f"line {number}")
        # Takes in what the browser reports, which would wait for a reader otherwise.
        check(page.run("!document.hidden"), "the page is hidden")
        time.sleep(chance.uniform(0.2, 0.9))
    page.wait(CONNECTED)
    page.run("window.scrollTo(0, 0)")
    stage.shoot(page, "inspector")
    check(page.errors == [], f"errors on the console: {page.errors}")


def conversation(stage, browser):
    """Guests and terminals talk through an outage, for README."""
    ann, bob = stage.join("ann"), stage.join("bob")
    pages = {}
    for name in ("web", "eve"):
        pages[name] = browser.page(width=1000, height=440)
        pages[name].open(f"http://127.0.0.1:{stage.port}/")
        pages[name].type("#name", name)
        pages[name].wait("document.getElementById('status').dataset.state === 'in'")
    page = pages["web"]

    def say(speaker, text):
        if speaker in pages:
            pages[speaker].type("#text", text)
        else:
            speaker.type(text)
        page.wait(f"document.getElementById('lines').innerText.includes({json.dumps(text)})")

    say(ann, "The new build is on the test server. Who can try it?")
    say("web", "I can, from the browser. Is the phone app on it, too?")
    say(bob, "Yes, since ten. I will restart the server now.")
    stage.server.type("restart 2")
    page.wait("document.getElementById('status').innerText.includes('trying again')")
    say("web", "This one I wrote while it was down.")
    page.wait("document.getElementById('status').dataset.state === 'in'")
    page.wait("!document.querySelector('#lines .waiting')")
    bob.wait("while it was down")
    say(bob, "It came all the same, and nobody saw a gap.")
    say("eve", "Nor did I.")
    page.wait("document.getElementById('people').innerText.includes('eve')")
    pages["eve"].type("#text", "…", enter=False)
    page.wait("document.getElementById('typing').innerText.includes('eve is typing')")
    stage.shoot(page, "chat")


SCENARIOS = {"inspector": inspector, "foreign": foreign, "chat": chat}
# Those that prove nothing.
OTHERS = {"pictures": pictures, "conversation": conversation}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--chat", required=True, help="the chat program")
    parser.add_argument("--tool", required=True, help="the program linkspan")
    parser.add_argument("--shots", help="a folder for screenshots")
    parser.add_argument("scenarios", nargs="*")
    arguments = parser.parse_args()
    # The process that has started this may go away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    status = 0
    for name in arguments.scenarios or SCENARIOS:
        try:
            with Browser() as browser:
                scenario = (SCENARIOS | OTHERS)[name]
                scenario(Stage(arguments.chat, arguments.tool, arguments.shots), browser)
            print(f"browser: {name}: {scenario.__doc__}", flush=True)
        except Failure as failure:
            print(f"error: {name}: {failure}", flush=True)
            status = 1
        finally:
            Program.end()
    return status


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # At once: the thread that watches the input of a test's child may hold it.
    os._exit(status)
