#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// The server's end of one TCP connection, with blocking calls.
struct Peer: Sendable {
    let descriptor: Int32

    static let upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    /// Reads up to `limit` bytes; empty at the end.
    func read(_ limit: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { bytes, count in
            count = max(0, recv(self.descriptor, bytes.baseAddress, limit, 0))
        }
    }

    /// Reads a request's head up to its blank line.
    func readHead() -> String {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let next = self.read(1)
            guard !next.isEmpty else { break }
            bytes += next
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the other side ends.
    func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = self.read(1 << 20)
            guard !next.isEmpty else { return bytes }
            bytes += next
        }
    }

    /// Returns false when the other side is gone.
    @discardableResult
    func write(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                send(self.descriptor, all.baseAddress.map { $0 + sent }, all.count - sent, Socket.sendFlags)
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { self.write(text.utf8) }

    /// Breaks the connection, behind all that was written.
    func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(self.descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Takes the request and says 101.
    @discardableResult
    func upgrade() -> String {
        let head = self.readHead()
        self.write(Self.upgraded)
        return head
    }

    /// Sends back what comes until the end.
    func echo() {
        while true {
            let bytes = self.read(1 << 18)
            guard !bytes.isEmpty, self.write(bytes) else { return }
        }
    }
}

extension Peer {
    /// Waits for a while; returns whether the other side is still there.
    func isOpen(for time: Duration) -> Bool {
        var interest = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&interest, 1, Int32(time.components.attoseconds / 1_000_000_000_000_000)) == 0
    }
}

/// Sets a variable of the environment; only in a process that has no other threads yet.
func setEnvironment(_ name: String, _ value: String) {
    setenv(name, value, 1)
}

/// The processor time that this process has used.
func processTime() -> Duration { .microseconds(Int(clock()) * 1_000_000 / Int(CLOCKS_PER_SEC)) }
