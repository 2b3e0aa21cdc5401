#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

import Testing

/// A listener whose queue is full, so that further connections stay unanswered.
struct BlackHole {
    let port: Int
    private let descriptors: [Int32]

    init(_ address: String = "127.0.0.1", port: Int = 0) throws {
        let listener = socket(AF_INET, Socket.stream, 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        try #require(LoopbackServer.bindTo(listener, address, isIPv6: false, port: port) == 0)
        try #require(listen(listener, 0) == 0)
        self.port = LoopbackServer.port(of: listener)
        var descriptors = [listener]
        for _ in 0..<4 {
            let filler = socket(AF_INET, Socket.stream, 0)
            _ = fcntl(filler, F_SETFL, fcntl(filler, F_GETFL) | O_NONBLOCK)
            LoopbackServer.connectTo(filler, address, port: self.port)
            descriptors.append(filler)
        }
        self.descriptors = descriptors
    }

    func stop() {
        for descriptor in self.descriptors { close(descriptor) }
    }
}
