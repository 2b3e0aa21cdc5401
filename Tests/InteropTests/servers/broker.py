#!/usr/bin/env python3
"""Starts brokers with a WebSocket listener: one mosquitto, or a nats-server alone or as a cluster.

The file `nodes.json` of the folder names each node's process and ports. All end with this process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import command_line

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    with command_line.listen(0) as probe:
        return int(probe.getsockname()[1])


def die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def mosquitto(folder: pathlib.Path, port: int, options: argparse.Namespace) -> tuple[list[str], int]:
    # With WebSocket listeners alone it does not start.
    plain = free_port()
    lines = [f"listener {plain} 127.0.0.1", f"listener {port}", "protocol websockets"]
    if options.durable:
        # Writes its file within a second of each change.
        lines += ["persistence true", f"persistence_location {folder}/"]
        lines += ["autosave_on_changes true", "autosave_interval 1"]
    lines += ["user root", "max_keepalive 600", "retain_available true"]
    if options.password:
        passwords = folder / "passwords"
        passwords.touch(mode=0o600)
        subprocess.run(["mosquitto_passwd", "-b", str(passwords), "ann", options.password], check=True)
        lines += ["allow_anonymous false", f"password_file {passwords}"]
    else:
        lines += ["allow_anonymous true"]
    if options.allow:
        lines += access_list(folder, options.allow)
    lines += options.setting
    config = folder / "mosquitto.conf"
    config.write_text("\n".join(lines) + "\n")
    return ["mosquitto", "-c", str(config)], plain


def access_list(folder: pathlib.Path, filters: list[str]) -> list[str]:
    kinds = ("publishClientSend", "subscribePattern")
    rules = [{"acltype": kind, "topic": topic, "allow": True} for kind in kinds for topic in filters]
    security = {
        "defaultACLAccess": {"publishClientSend": False, "publishClientReceive": True, "subscribe": False, "unsubscribe": True},
        "clients": [], "roles": [{"rolename": "all", "acls": rules}],
        "groups": [{"groupname": "all", "roles": [{"rolename": "all"}], "clients": []}], "anonymousGroup": "all",
    }
    file = folder / "security.json"
    file.write_text(json.dumps(security))
    plugins = [path for top in ("/usr/lib", "/opt/homebrew/lib") for path in pathlib.Path(top).rglob("mosquitto_dynamic_security.so")]
    if not plugins:
        sys.exit("mosquitto has no mosquitto_dynamic_security.so: apt-get install mosquitto")
    return [f"plugin {plugins[0]}", f"plugin_opt_config_file {file}"]


def nats(
    folder: pathlib.Path, port: int, options: argparse.Namespace, number: int, routes: list[int]
) -> tuple[list[str], int]:
    plain = free_port()
    lines = [f'server_name: "n{number}"', 'host: "127.0.0.1"', f"port: {plain}"]
    lines += [f'websocket {{ host: "127.0.0.1", port: {port}, no_tls: true }}']
    lines += [f'jetstream {{ store_dir: "{folder}/js{number}" }}']
    if routes:
        urls = ", ".join(f"nats://127.0.0.1:{route}" for route in routes)
        lines += [f'cluster {{ name: "c", host: "127.0.0.1", port: {routes[number]}, routes: [{urls}] }}']
    if options.password:
        lines += [f'authorization {{ user: "ann", password: "{options.password}" }}']
    lines += options.setting
    config = folder / f"nats{number}.conf"
    config.write_text("\n".join(lines) + "\n")
    return ["nats-server", "-c", str(config)], plain


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens at port {port} after 30 s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", choices=("mosquitto", "nats-server"), required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--password", help="of the user ann; anybody may come without")
    parser.add_argument("--durable", action="store_true", help="mosquitto keeps sessions and messages in a file")
    parser.add_argument(
        "--allow", action="append", default=[], help="a filter of the topics that clients of mosquitto may use; any without it")
    parser.add_argument("--setting", action="append", default=[], help="a line of the broker's file")
    options = command_line.parse(parser)
    if shutil.which(options.broker) is None:
        sys.exit(f"there is no {options.broker}: apt-get install {options.broker}")
    options.folder.mkdir(parents=True, exist_ok=True)
    ports = [options.port or free_port()] + [free_port() for _ in range(options.nodes - 1)]
    routes = [free_port() for _ in ports] if options.nodes > 1 else []
    nodes = []
    for number, port in enumerate(ports):
        if options.broker == "mosquitto":
            command, plain = mosquitto(options.folder, port, options)
        else:
            command, plain = nats(options.folder, port, options, number, routes)
        with (options.folder / f"log{number}").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent)
        nodes.append({"pid": process.pid, "port": port, "plain": plain})
    for node in nodes:
        wait_for(node["port"])
    (options.folder / "nodes.json").write_text(json.dumps(nodes))
    print(f"listening {ports[0]}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
