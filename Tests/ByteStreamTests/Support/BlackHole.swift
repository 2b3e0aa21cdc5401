#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import LinkspanRuntime
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

    /// Takes the connections from now on; returns whether there is a thread for that.
    func serve(_ body: @escaping @Sendable (Peer) -> Void) -> Bool {
        let listener = self.descriptors[0]
        return SystemThread.start(name: "test-hole") {
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                let isStarted = SystemThread.start(name: "test-peer") {
                    body(Peer(descriptor: descriptor))
                    close(descriptor)
                }
                if !isStarted { close(descriptor) }
            }
        }
    }

    func stop() {
        // Or a thread that accepts would never end.
        shutdown(self.descriptors[0], Int32(SHUT_RDWR))
        for descriptor in self.descriptors { close(descriptor) }
    }
}
