"""The arguments that the servers of these tests share."""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import ssl

from lifetime import end_with_input

# Below the ports that the system gives out, so that a server finds its own again after a crash.
FREE_PORTS = range(10_000, 32_000)


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Adds the shared arguments, reads the command line, and ends the process with its input if that is asked for."""
    parser.add_argument("--port", type=int, default=0, help="0, the default, picks a free one")
    parser.add_argument("--ssl-cert", metavar="FILE", help="certificate chain (PEM); turns TLS on")
    parser.add_argument("--ssl-key", metavar="FILE", help="private key (PEM)")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    arguments = parser.parse_args()
    if (arguments.ssl_cert is None) != (arguments.ssl_key is None):
        parser.error("--ssl-cert and --ssl-key go together")
    if arguments.until_eof:
        end_with_input()
    return arguments


def tls(arguments: argparse.Namespace) -> ssl.SSLContext | None:
    """The TLS of a server; None when it was given no certificate."""
    if arguments.ssl_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.ssl_cert, arguments.ssl_key)
    return context


def listen(port: int, backlog: int = 128) -> socket.socket:
    """Listens at a port of this machine; 0 picks one that is free."""
    for number in random.sample(FREE_PORTS, 100) if port == 0 else []:
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", number), backlog=backlog)
    return socket.create_server(("127.0.0.1", port), backlog=backlog)
