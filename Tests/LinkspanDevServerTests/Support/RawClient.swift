#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

internal import Testing

/// A TCP connection of which each byte is the test's own; reads give up after 10 seconds.
final class RawClient: Sendable {
    private let descriptor: Int32

    /// Connects from an address of the loopback network.
    init(port: Int, from source: String = "127.0.0.1") throws {
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
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(self.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(self.descriptor) }

    /// Sends as much as the other side takes.
    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func write(_ text: String) { self.write(Array(text.utf8)) }

    /// The bytes up to the end of the connection, or nil when it does not end in time.
    func readToEnd() -> [UInt8]? {
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
    func read(until text: String) -> String {
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains(text) {
            var byte: UInt8 = 0
            guard recv(self.descriptor, &byte, 1, 0) == 1 else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
