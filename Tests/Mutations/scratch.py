"""The scratch folder: a copy of the sources in which bugs are put, and where they are built and tested."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".build-mutations"
BUILD: str | pathlib.Path = ".build"
COPIED = ["Sources", "Plugins", "Tests"]
# Appended to the manifest: what the tests in question do not need is left out, and with it much of the build.
ONLY_THESE = """
var needed: Set = [%s]
for _ in package.targets {
    for target in package.targets where needed.contains(target.name) {
        for dependency in target.dependencies {
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): needed.insert(name)
            default: ()
            }
        }
    }
}
package.targets.removeAll { !needed.contains($0.name) }
package.products = []
"""
# Not at the beginning of a line alone: what goes to standard error may come in the midst of one of standard output.
FAILED = re.compile(r"✘ Test (?!run)(.+?)(?: with \d+ test cases?)? (?:failed after|recorded an issue)")
BUILD_SECONDS, MEMORY = 3600, 4 << 30


def copy(targets: set[str]) -> None:
    """Makes the scratch folder equal to the work tree; files that are equal keep their age, and so their build."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    only = ONLY_THESE % ", ".join(f'"{target}"' for target in sorted(targets))
    write(FOLDER / "Package.swift", ((ROOT / "Package.swift").read_text() + only).encode())
    if (ROOT / "Package.resolved").exists():
        write(FOLDER / "Package.resolved", (ROOT / "Package.resolved").read_bytes())
    for folder in COPIED:
        wanted = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        for path in wanted:
            write(FOLDER / path, (ROOT / path).read_bytes())
        for path in [path for path in (FOLDER / folder).rglob("*") if path.is_file()]:
            if path.relative_to(FOLDER) not in wanted:
                path.unlink()


def write(path: pathlib.Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def run(*command: str, seconds: float = BUILD_SECONDS, until: re.Pattern | None = None, **environment: str) -> tuple[int, str]:
    """Runs a command to its end, at most until a line of its output says enough."""
    process = subprocess.Popen(
        command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, env=os.environ | {"NO_COLOR": "1"} | environment)
    timer = threading.Timer(seconds, kill_session, (process.pid,))
    timer.start()
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if until and until.search(line):
            kill_session(process.pid)
    code = process.wait()
    if not timer.is_alive():
        lines.append(f"error: took more than {seconds:.0f} s")
    timer.cancel()
    return code, "".join(lines)


def kill_session(session: int) -> None:
    """Kills all processes of a session. Its process group would not do: exit tests have groups of their own."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,sid="], capture_output=True, text=True).stdout
    for pid, sid in (map(int, line.split()) for line in listed.splitlines()):
        if sid == session:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def tests(filters: list[str]) -> list[str]:
    """The command that runs these suites and tests, which may take so much memory.

    Not `swift test`, which keeps the output to itself until it ends.
    """
    pattern = "^(" + "|".join(re.escape(name) for name in filters) + ")(/|$)"
    (program,) = (FOLDER / BUILD).resolve().glob("debug/*.xctest")
    return ["/bin/sh", "-c", f'ulimit -d {MEMORY >> 10}; exec "$@"', "sh", str(program), "--testing-library", "swift-testing",
            "--no-parallel", "--filter", pattern]


def build(*options: str) -> tuple[int, str]:
    return run("swift", "build", *options, "--scratch-path", str(BUILD))
