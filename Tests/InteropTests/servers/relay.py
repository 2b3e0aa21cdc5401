#!/usr/bin/env python3
"""Carries the bytes of connections to another port of this machine: killed it cuts them, stopped it leaves them half open."""

from __future__ import annotations

import argparse
import socket
import threading

import command_line


def carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, required=True, help="the port of the server")
    arguments = command_line.parse(parser)
    with command_line.listen(arguments.port) as listener:
        print(f"listening {listener.getsockname()[1]}", flush=True)
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", arguments.to))
            except OSError:
                client.close()
                continue
            for ends in ((client, server), (server, client)):
                threading.Thread(target=carry, args=ends, daemon=True).start()


if __name__ == "__main__":
    main()
