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
