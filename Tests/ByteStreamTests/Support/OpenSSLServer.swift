import Testing

/// A server over OpenSSL itself, for one connection: it renews keys and sends tickets when it is told to.
final class OpenSSLServer: Sendable {
    let port: Int
    private let process: ChildProcess

    /// Starts a server that takes a request and does the steps then, one after the other.
    ///
    /// - Parameters:
    ///   - certificates: where its certificate `good` is.
    ///   - version: the only version of TLS that it speaks.
    ///   - steps: `say TEXT` and `fill COUNT` send in a record of their own, and with a plus before the TEXT together with
    ///     the 101 answer; `hear TEXT` reads until that came, `renew` sends a new key and wants one (RFC 8446 section
    ///     4.6.3), `renew-own` sends a new key only, `ticket` sends a session ticket, `end` says that nothing more comes,
    ///     `cut` ends TCP without that, `tell WORD` tells the test (``word()``).
    ///   - head: the head of the answer.
    /// - Throws: an expectation's failure when the server does not start.
    init(_ certificates: Certificates, version: String = "TLS1.3", _ steps: [String], head: String = Peer.upgraded)
        throws
    {
        self.process = try ChildProcess(
            [
                "python3", "-u", "-c", Self.script, certificates.path("good.pem"), certificates.path("good.key"),
                version, head,
            ] + steps)
        self.port = Int(self.process.line()) ?? 0
        try #require(self.port > 0, "no server: is there a python3, and OpenSSL 3?")
    }

    /// The word of the next step `tell`, or for how it went: `done` when all steps were done and the client has ended the
    /// session in order.
    func word() async throws -> String {
        // A client that never closes its socket would keep the server, and the test beyond its time limit.
        try await withTaskCancellationHandler {
            try await blocking { self.process.line() }
        } onCancel: {
            self.process.end()
        }
    }

    func stop() { self.process.stop() }

    private static let script = """
        import ctypes, ctypes.util, os, socket, sys
        os.closerange(3, 65536)
        certificate, key, version, head, steps = *sys.argv[1:5], sys.argv[5:]
        head = head.encode()
        lib = ctypes.CDLL(ctypes.util.find_library("ssl"))
        for name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"):
            getattr(lib, name).restype = ctypes.c_void_p
        context = ctypes.c_void_p(lib.SSL_CTX_new(ctypes.c_void_p(lib.TLS_server_method())))
        assert lib.SSL_CTX_use_certificate_chain_file(context, certificate.encode()) == 1
        assert lib.SSL_CTX_use_PrivateKey_file(context, key.encode(), 1) == 1
        number = {"TLS1.2": 0x303, "TLS1.3": 0x304}[version]
        lib.SSL_CTX_ctrl(context, 123, ctypes.c_long(number), None)
        lib.SSL_CTX_ctrl(context, 124, ctypes.c_long(number), None)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0)); listener.listen(8)
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = ctypes.c_void_p(lib.SSL_new(context))
        lib.SSL_set_fd(tls, connection.fileno())
        heard = b""
        def hear(text):
            global heard
            room = ctypes.create_string_buffer(65536)
            while text not in heard:
                count = lib.SSL_read(tls, room, 65536)
                assert count > 0, "the client ended"
                heard += room.raw[:count]
            heard = heard.split(text, 1)[1]
        def say(data):
            assert lib.SSL_write(tls, data, len(data)) == len(data), "the client did not take it"
        def pattern(count):
            return bytes((index * 7 + index // 251) % 256 for index in range(count))
        try:
            assert lib.SSL_accept(tls) == 1, "no TLS"
            hear(b"\\r\\n\\r\\n")
            together = steps and steps[0].startswith("+")
            if together: head += steps.pop(0)[1:].encode()
            say(head)
            for step in steps:
                verb, _, text = step.partition(" ")
                if verb == "say": say(text.encode())
                elif verb == "fill": say(pattern(int(text)))
                elif verb == "hear": hear(text.encode())
                elif verb == "tell": print(text, flush=True)
                elif verb == "renew":
                    assert lib.SSL_key_update(tls, 1) == 1 and lib.SSL_do_handshake(tls) == 1
                elif verb == "renew-own":
                    assert lib.SSL_key_update(tls, 0) == 1 and lib.SSL_do_handshake(tls) == 1
                elif verb == "ticket":
                    assert lib.SSL_new_session_ticket(tls) == 1 and lib.SSL_do_handshake(tls) == 1
                elif verb == "end": lib.SSL_shutdown(tls)
                elif verb == "cut": connection.shutdown(socket.SHUT_WR)
                else: assert False, "no step " + step
            room = ctypes.create_string_buffer(65536)
            count = lib.SSL_read(tls, room, 65536)
            while count > 0: count = lib.SSL_read(tls, room, 65536)
            print("done" if lib.SSL_get_error(tls, count) == 6 else "cut", flush=True)
        except AssertionError as problem:
            print("failed:", problem, flush=True)
        """
}

extension OpenSSLServer {
    /// The bytes that the step `fill COUNT` sends.
    static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 251) }
    }
}
