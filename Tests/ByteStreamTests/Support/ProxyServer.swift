import LinkspanNetwork
import Testing

/// A proxy in a process of its own, which tells what each connection asked for.
final class ProxyServer: Sendable {
    let port: Int
    private let process: ChildProcess

    /// Starts a proxy that wants `credentials`, if any, and answers `status` to all, unless it is 200.
    init(
        _ kind: NetworkProxy.Kind, _ address: String = "127.0.0.1", credentials: String = "", status: Int = 200
    ) throws {
        self.process = try ChildProcess([
            "python3", "-u", "-c", Self.script, kind.rawValue, address, credentials, "\(status)",
        ])
        self.port = Int(self.process.line()) ?? 0
        try #require(self.port > 0, "no proxy: is there a python3?")
    }

    /// The request line and the status of the next connection, such as `CONNECT host:80 HTTP/1.1 200` and
    /// `SOCKS5 host:80 0`.
    func report() async throws -> String { try await blocking { self.process.line() } }

    func stop() { self.process.stop() }

    private static let script = """
        import base64, os, socket, sys, threading
        os.closerange(3, 65536)
        kind, address, credentials, status = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
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
        def exactly(client, count):
            data = b""
            while len(data) < count:
                more = client.recv(count - len(data))
                if not more: raise OSError("closed")
                data += more
            return data
        def lead(client, host, port, success):
            # Every name is the loopback here; a client that looked names up itself would not get this far.
            server = socket.create_connection((host if ":" in host else "127.0.0.1", port))
            for byte in success: client.sendall(bytes([byte]))
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)
        def socks(client):
            version, count = exactly(client, 2)
            methods = exactly(client, count)
            method = (2 if wanted else 0)
            if version != 5 or method not in methods: return client.sendall(bytes([5, 255])) or client.close()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(bytes([5])); client.sendall(bytes([method]))
            if method == 2:
                shown = exactly(client, 2)
                user = exactly(client, shown[1])
                password = exactly(client, exactly(client, 1)[0])
                good = shown[0] == 1 and user + b":" + password == credentials.encode()
                client.sendall(bytes([1, 0 if good else 1]))
                if not good: return client.close()
            version, command, _, kind = exactly(client, 4)
            if kind == 3: host = exactly(client, exactly(client, 1)[0]).decode()
            elif kind == 1: host = socket.inet_ntop(socket.AF_INET, exactly(client, 4))
            else: host = socket.inet_ntop(socket.AF_INET6, exactly(client, 16))
            port = int.from_bytes(exactly(client, 2), "big")
            answer = 0 if status == 200 else status
            with lock: print(f"SOCKS5 [{host}]:{port}" if kind == 4 else f"SOCKS5 {host}:{port}", answer, flush=True)
            bound = {1: b"\\1" + bytes(6), 3: b"\\3\\5proxy" + bytes(2), 4: b"\\4" + bytes(18)}[kind]
            if answer or version != 5 or command != 1:
                # Without an address, as some do.
                return client.sendall(bytes([5, answer])) or client.close()
            lead(client, host, port, bytes([5, 0, 0]) + bound)
        def serve(client):
            if kind == "socks5":
                try: return socks(client)
                except OSError: return client.close()
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
            lead(client, host.strip("[]"), int(port), b"HTTP/1.1 200 Connection established\\r\\nProxy-Agent: test\\r\\n\\r\\n")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((address, 0)); listener.listen(64)
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """
}
