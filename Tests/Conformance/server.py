"""Runs the suite's fuzzing server on the loopback only. Python 2.7, as the suite is.

Its own starter would listen on every interface. Prints the port; ends and writes the reports when its input ends.
"""
import json
import socket
import sys
import threading

import txaio

txaio.use_twisted()  # the suite is older than the need to say so

from autobahntestsuite import choosereactor  # noqa: E402, F401, has to come before the reactor
from autobahntestsuite.fuzzing import FuzzingServerFactory  # noqa: E402
from twisted.internet import reactor, ssl  # noqa: E402
from twisted.protocols.tls import TLSMemoryBIOFactory  # noqa: E402

HOST = "127.0.0.1"


def listener():
    """A socket that has its port and keeps it; the factory wants to know the port before it listens."""
    listening = socket.socket()
    listening.bind((HOST, 0))
    listening.listen(64)
    listening.setblocking(False)
    return listening


def end_with_input(factory):
    """Waits for the end of the input, then writes the reports and ends.

    The result of a case is there when its connection is gone, which the client need not have waited for.
    """

    def finish():
        if factory.countConnections > 0:
            reactor.callLater(0.01, finish)
            return
        factory.createReports()
        reactor.stop()

    sys.stdin.read()
    reactor.callFromThread(finish)


def main():
    """Serves the cases of the file named as argument."""
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    listening = listener()
    port = listening.getsockname()[1]
    spec["url"] = str("%s://%s:%d" % ("wss" if spec.get("cert") else "ws", HOST, port))
    # What the suite prints goes to the log.
    output, sys.stdout = sys.stdout, sys.stderr
    factory = FuzzingServerFactory(spec)
    served = factory
    if spec.get("cert"):
        context = ssl.DefaultOpenSSLContextFactory(str(spec["key"]), str(spec["cert"]))
        served = TLSMemoryBIOFactory(context, False, factory)
    reactor.adoptStreamPort(listening.fileno(), socket.AF_INET, served)
    listening.close()
    watcher = threading.Thread(target=end_with_input, args=(factory,))
    watcher.daemon = True
    watcher.start()
    output.write("listening %d\n" % port)
    output.flush()
    reactor.run()


main()
