import Testing

/// A TLS server in a process of its own, which tells what happened on each connection.
final class TLSServer: Sendable {
    /// What one connection came to: the protocol version, ALPN and server name that were agreed on, if TLS came about,
    /// and the number of bytes that the client sent within TLS.
    struct Report: Sendable, Equatable {
        var version: String
        var alpn: String
        var name: String
        var count: Int
    }

    let port: Int
    private let process: ChildProcess

    /// Starts a server that shows `certificate`, speaks `maximum` at most and echoes after an upgrade; with `clients`,
    /// the authority that has to vouch for the client; with `answer` in place of its consent, each `piece` bytes in a
    /// record of their own.
    init(
        _ certificates: Certificates, certificate: String, address: String = "127.0.0.1", port: Int = 0,
        maximum: String = "TLSv1_3", clients: String = "", answer: String = Peer.upgraded, piece: Int = 16_384
    ) throws {
        self.process = try ChildProcess([
            "python3", "-u", "-c", Self.script, address, certificates.path("\(certificate).pem"),
            certificates.path("\(certificate).key"), maximum, "\(port)", clients, answer, "\(piece)",
        ])
        self.port = Int(self.process.line()) ?? 0
        try #require(self.port > 0, "no TLS server: is there a python3?")
    }

    /// The report of the next connection that ended.
    func report() async throws -> Report {
        let line = try await blocking { self.process.line() }
        let parts = line.split(separator: " ").map(String.init)
        try #require(parts.count == 4)
        return Report(version: parts[0], alpn: parts[1], name: parts[2], count: try #require(Int(parts[3])))
    }

    func stop() { self.process.stop() }

    private static let script = """
        import os, socket, ssl, sys, threading
        # What it inherited by chance, such as the pipe of another test that waits for its end.
        os.closerange(3, 65536)
        address, certificate, key, maximum, port, clients, answer, piece = sys.argv[1:9]
        answer, piece = answer.encode(), int(piece)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        if clients:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = getattr(ssl.TLSVersion, maximum)
        names = {}
        def named(connection, name, _): names[connection] = name
        context.sni_callback = named
        lock = threading.Lock()
        def serve(raw):
            version, alpn, name, count, head, rest = "none", "none", "none", 0, b"", b""
            try:
                connection = context.wrap_socket(raw, server_side=True)
                version, alpn = connection.version(), str(connection.selected_alpn_protocol()).lower()
                name = names.pop(connection, None) or "none"
                while b"\\r\\n\\r\\n" not in head:
                    more = connection.recv(65536)
                    if not more: break
                    count += len(more); head += more
                if b"\\r\\n\\r\\n" in head:
                    for start in range(0, len(answer), piece): connection.sendall(answer[start:start + piece])
                    while True:
                        more = connection.recv(65536)
                        if not more: break
                        count += len(more)
                        connection.sendall(more)
                connection.close()
            except Exception: pass
            try: raw.close()
            except Exception: pass
            with lock: print(version, alpn, name, count, flush=True)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, int(port))); listener.listen(64)
        print(listener.getsockname()[1], flush=True)
        while True:
            raw, _ = listener.accept()
            threading.Thread(target=serve, args=(raw,), daemon=True).start()
        """
}
