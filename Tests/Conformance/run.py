#!/usr/bin/env python3
"""Runs the Autobahn test suite against our client and prints a table; fails unless every case passes and ends cleanly.

Passed means OK or, where the suite has no opinion, INFORMATIONAL.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
from dataclasses import dataclass, field

FRAMING = [f"{section}.*" for section in (1, 2, 3, 4, 5, 6, 7, 10)]
# The last numbers of the compression cases that take a second or two; the others take minutes.
QUICK = (1, 2, 3, 4, 5, 6, 11)
PASSED = {"OK", "INFORMATIONAL"}
# The back ends of byte streams.
NETWORKS = ("libwebsockets", "nio")
Results = dict[str, dict[str, object]]


def compression(section: int, *, is_long: bool) -> list[str]:
    """The compression cases of a section, by their full names: a pattern would match more."""
    groups = {12: 5, 13: 7}[section]
    numbers = range(1, 19) if is_long else QUICK
    return [f"{section}.{group}.{number}" for group in range(1, groups + 1) for number in numbers]


@dataclass
class Part:
    """Cases that run against a server of their own."""

    name: str
    cases: list[str]
    count: int
    parallel: int = 1
    # Whether it runs alone: the suite gives these cases a second each, which a busy machine may not keep.
    is_alone: bool = True
    is_secure: bool = False
    # The library under the client's bytes.
    network: str = "libwebsockets"
    results: Results = field(default_factory=dict)


def parts(*, is_long: bool, network: str) -> list[Part]:
    """What there is to run over a back end."""
    found = [
        Part("framing", FRAMING, 247, parallel=8, network=network),
        Part("framing over TLS", FRAMING, 247, parallel=8, is_secure=True, network=network),
        Part("sizes", ["9.*"], 54, network=network),
    ]
    for section in (12, 13):
        cases = compression(section, is_long=is_long)
        found.append(Part(f"compression {section}", cases, len(cases), is_alone=False, network=network))
    return found


class Suite:
    """The installed suite, and the client that it judges."""

    def __init__(self, folder: pathlib.Path, client: pathlib.Path) -> None:
        self._folder = folder
        self._client = client
        self._sources = pathlib.Path(__file__).resolve().parent

    def run(self, part: Part) -> None:
        """Runs a part and reads what the suite thinks of it."""
        work = self._folder / "work" / part.network / part.name.replace(" ", "-")
        work.mkdir(parents=True, exist_ok=True)
        spec = {"outdir": str(work / "reports"), "cases": part.cases, "exclude-cases": [], "exclude-agent-cases": {}}
        arguments = ["--parallel", str(part.parallel), "--agent", "linkspan", "--network", part.network]
        if part.is_secure:
            spec["cert"], spec["key"] = self._certificate(work)
            arguments += ["--ca", spec["cert"]]
        (work / "spec.json").write_text(json.dumps(spec))
        index = work / "reports" / "index.json"
        index.unlink(missing_ok=True)
        with (work / "server.log").open("wb") as log:
            server = self._server(work / "spec.json", log)
            try:
                words = server.stdout.readline().split()
                if len(words) != 2 or words[0] != b"listening":
                    sys.exit(f"error: the suite's server does not start; see {log.name}")
                subprocess.run([self._client, f"127.0.0.1:{int(words[1])}", *arguments], check=True)
                server.stdin.close()
                server.wait(timeout=120)
            finally:
                server.kill()
                server.wait()
        part.results = json.loads(index.read_text())["linkspan"]

    def _server(self, spec: pathlib.Path, log: object) -> subprocess.Popen[bytes]:
        [libraries] = (self._folder / "root" / "usr" / "lib").glob("*-linux-gnu")
        return subprocess.Popen(
            [self._folder / "suite" / "bin" / "python", "-u", self._sources / "server.py", spec],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "LD_LIBRARY_PATH": str(libraries)},
        )

    @staticmethod
    def _certificate(work: pathlib.Path) -> tuple[str, str]:
        """A certificate for the loopback that is its own authority."""
        certificate, key = str(work / "certificate.pem"), str(work / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Conformance"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        return certificate, key


def is_clean(result: dict[str, object]) -> bool:
    """Whether the connection of a case ended as it should."""
    return result["behaviorClose"] in PASSED


def table(done: list[Part]) -> bool:
    """Prints a line for each section; returns whether all is well."""
    columns = ("OK", "INFORMATIONAL", "NON-STRICT", "FAILED")
    print(f"\n{done[0].network if done else '':<24}" + "".join(f"{name:>15}" for name in (*columns, "unclean close")))
    sums = [0] * (len(columns) + 1)
    for part in done:
        sections = sorted({int(case.split(".")[0]) for case in part.results})
        for section in sections:
            results = [result for case, result in part.results.items() if int(case.split(".")[0]) == section]
            known = [sum(result["behavior"] == name for result in results) for name in columns[:3]]
            counts = [*known, len(results) - sum(known), sum(not is_clean(result) for result in results)]
            sums = [total + count for total, count in zip(sums, counts, strict=True)]
            name = f"{section}{' over TLS' if part.is_secure else ''}"
            print(f"{name:<24}" + "".join(f"{count:>15}" for count in counts))
    print(f"{'all':<24}" + "".join(f"{total:>15}" for total in sums))
    is_well = True
    for part in done:
        for case, result in part.results.items():
            if result["behavior"] not in PASSED or not is_clean(result):
                is_well = False
                print(f"error: {part.name}: {case} {result['behavior']}, close {result['behaviorClose']}")
        if len(part.results) != part.count:
            is_well = False
            print(f"error: {part.name}: {len(part.results)} of {part.count} cases have a result")
    return is_well


def main() -> None:
    """Reads the command line and runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the suite was set up")
    parser.add_argument("--client", type=pathlib.Path, required=True, help="the client's executable")
    parser.add_argument("--long", action="store_true", help="run the slow compression cases, too")
    parser.add_argument("--only", metavar="PART", help="run only the parts whose names begin so")
    parser.add_argument(
        "--network", action="append", choices=NETWORKS, help="the back end; may be repeated, each unless given")
    options = parser.parse_args()
    suite = Suite(options.folder.resolve(), options.client.resolve())
    is_well = True
    for network in options.network or NETWORKS:
        found = parts(is_long=options.long, network=network)
        is_well = judge(suite, [part for part in found if part.name.startswith(options.only or "")]) and is_well
    sys.exit(0 if is_well else 1)


def judge(suite: Suite, chosen: list[Part]) -> bool:
    """Runs the parts and prints their table; returns whether all is well."""
    start = time.monotonic()
    # The server is one thread, and busy with compressing: two of them take half the time on two cores.
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for part in chosen:
            if part.is_alone:
                suite.run(part)
        list(pool.map(suite.run, [part for part in chosen if not part.is_alone]))
    is_well = table(chosen)
    print(f"{sum(len(part.results) for part in chosen)} cases in {time.monotonic() - start:.0f} s", flush=True)
    return is_well


if __name__ == "__main__":
    main()
