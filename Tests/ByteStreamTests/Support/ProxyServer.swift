import LinkspanNetwork
import Testing

/// An HTTP proxy in a process of its own, which tells what each connection asked for.
final class ProxyServer: Sendable {
    let port: Int
    private let process: ChildProcess

    /// Starts a proxy that wants `credentials`, if any, and answers `status` to all, unless it is 200.
    init(_ address: String = "127.0.0.1", credentials: String = "", status: Int = 200) throws {
        self.process = try ChildProcess(["python3", "-u", "-c", Self.script, address, credentials, "\(status)"])
        self.port = Int(self.process.line()) ?? 0
        try #require(self.port > 0, "no proxy: is there a python3?")
    }

    /// The request line and the status of the next connection, such as `CONNECT host:80 HTTP/1.1 200`.
    func report() async throws -> String { try await blocking { self.process.line() } }

    func stop() { self.process.stop() }

    private static let script = """
        import base64, os, socket, sys, threading
        os.closerange(3, 65536)
        address, credentials, status = sys.argv[1], sys.argv[2], int(sys.argv[3])
        wanted = "basic " + base64.b64encode(credentials.encode()).decode() if credentials else ""
        lock = threading.Lock()
        def pump(source, sink):
            try:
                while True:
                    more = source.recv(65536)
                    if not more: break
                    sink.sendall(more)
            except OSError: pass
            try: sink.shutdown(socket.SHUT_WR)
            except OSError: pass
        def serve(client):
            head = b""
            while b"\\r\\n\\r\\n" not in head:
                more = client.recv(65536)
                if not more: return client.close()
                head += more
            lines = head.split(b"\\r\\n\\r\\n")[0].decode().split("\\r\\n")
            fields = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
            shown = fields.get("proxy-authorization", "")
            answer = status
            if wanted and shown.lower().split(" ")[:1] + shown.split(" ")[1:] != wanted.split(" "): answer = 407
            with lock: print(lines[0], answer, flush=True)
            if answer != 200:
                client.sendall(f"HTTP/1.1 {answer} No\\r\\nContent-Length: 3\\r\\nRetry-After: 7\\r\\n\\r\\nno\\n".encode())
                return client.close()
            host, port = lines[0].split(" ")[1].rsplit(":", 1)
            # Every name is the loopback here; a client that looked names up itself would not get this far.
            host = host.strip("[]")
            server = socket.create_connection((host if ":" in host else "127.0.0.1", int(port)))
            client.sendall(b"HTTP/1.1 200 Connection established\\r\\nProxy-Agent: test\\r\\n\\r\\n")
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((address, 0)); listener.listen(64)
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """
}
