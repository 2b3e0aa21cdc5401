internal import Testing

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

/// A TCP connection of which each byte is the test's own; reads give up after 30 seconds.
package final class RawClient: Sendable {
    private let descriptor: Int32

    /// Connects from an address of the loopback network.
    package init(port: Int, from source: String = "127.0.0.1") throws {
        #if canImport(Glibc)
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        self.descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(source)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isBound)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(code == 0)
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(self.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(self.descriptor) }

    /// Sends as much as the other side takes.
    package func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    package func write(_ text: String) { self.write(Array(text.utf8)) }

    /// The bytes up to the end of the connection, or nil when it does not end in time.
    package func readToEnd() -> [UInt8]? {
        var bytes: [UInt8] = []
        while true {
            var chunk = [UInt8](repeating: 0, count: 4_096)
            let count = recv(self.descriptor, &chunk, chunk.count, 0)
            if count < 0 { return errno == ECONNRESET ? bytes : nil }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
        }
    }

    /// The bytes up to a text, or what there was.
    package func read(until text: String) -> String {
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains(text) {
            var byte: UInt8 = 0
            guard recv(self.descriptor, &byte, 1, 0) == 1 else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// So many bytes; nil when the connection ends before, or they do not come in time.
    package func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var chunk = [UInt8](repeating: 0, count: count - bytes.count)
            let received = recv(self.descriptor, &chunk, chunk.count, 0)
            guard received > 0 else { return nil }
            bytes += chunk.prefix(received)
        }
        return bytes
    }

    /// Sends a request on a connection of its own, and returns the status and the body of the answer.
    package static func exchange(
        port: Int, _ method: String, _ target: String, body: String = ""
    ) throws -> (status: Int, body: String) {
        let client = try RawClient(port: port)
        client.ask(method, target, body: body)
        return try client.answer()
    }

    /// Returns when the server has accepted the connection: what is sent next is read before what any later connection
    /// brings.
    package func settle() {
        self.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = self.read(until: "any other path\n")
    }

    /// Sends a request that is the last of this connection.
    package func ask(_ method: String, _ target: String, body: String = "") {
        self.write(
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// The status and the body of the answer to the last request.
    package func answer() throws -> (status: Int, body: String) {
        let text = String(decoding: try #require(self.readToEnd()), as: UTF8.self)
        let status = try #require(Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)))
        return (status, String(text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first ?? ""))
    }
}

/// A WebSocket of which each frame is the test's own.
package final class RawWebSocket {
    /// A frame.
    package enum Frame: Equatable {
        case text(String)
        case binary([UInt8])
        case close
    }

    private let client: RawClient
    /// Whether the server agreed.
    package let isOpen: Bool

    /// Connects, and asks for the upgrade.
    package init(port: Int, _ target: String, host: String = "localhost", fields: [String] = []) throws {
        self.client = try RawClient(port: port)
        self.client.write(
            "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\(fields.map { "\($0)\r\n" }.joined())Upgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        self.isOpen = self.client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 ")
    }

    /// Sends a text message of less than 126 bytes.
    package func send(_ text: String) { self.send(0x81, Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) { self.send(0x82, bytes) }

    package func send(_ frame: Frame) {
        switch frame {
        case .text(let text): self.send(text)
        case .binary(let bytes): self.send(bytes)
        case .close: self.send(0x88, [])
        }
    }

    /// Sends a frame of less than 126 bytes with an empty mask.
    private func send(_ opcode: UInt8, _ bytes: [UInt8]) {
        self.client.write([opcode, 0x80 | UInt8(bytes.count), 0, 0, 0, 0] + bytes)
    }

    /// The next frame; nil at the end.
    package func next() -> Frame? {
        guard let head = self.client.read(2) else { return nil }
        var length = Int(head[1])
        if length == 126 {
            guard let more = self.client.read(2) else { return nil }
            length = Int(more[0]) << 8 | Int(more[1])
        } else if length == 127 {
            guard let more = self.client.read(8) else { return nil }
            length = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let body = self.client.read(length) else { return nil }
        switch head[0] {
        case 0x81: return .text(String(decoding: body, as: UTF8.self))
        case 0x82: return .binary(body)
        case 0x88: return .close
        default: return self.next()
        }
    }

    /// The next frame that is no ping of Engine.IO; pings are answered.
    package func nextMessage() -> Frame? {
        while let frame = self.next() {
            guard frame == .text("2") else { return frame }
            self.send("3")
        }
        return nil
    }

    /// The text of the next frame, which has to be text.
    package func text() throws -> String {
        guard case .text(let text) = self.next() else { throw NoText() }
        return text
    }

    /// Whether the server answers a ping.
    package func isAlive() -> Bool {
        self.send(0x89, [])
        return self.client.read(2) == [0x8A, 0]
    }

    /// Whether the server closes it in time, whatever it sends before.
    package func isClosed() -> Bool {
        while let frame = self.next() {
            if frame == .close { return true }
        }
        return self.client.readToEnd() != nil
    }

    /// Something else came.
    package struct NoText: Error {
        /// Makes the error.
        package init() {}
    }
}
