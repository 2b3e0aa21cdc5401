internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A port at which a loop accepts streams.
///
/// It is the library's user data: retained once when the socket is given to the library, and released once when the
/// library says that it closed it.
final class ListeningSocket: ByteListener {
    let port: Int

    /// The most connections that are accepted in one go: others are served in between.
    private static let turnLimit = 64
    /// The pause before the next connection is accepted when the process has no descriptor left.
    ///
    /// Without it, the system would report the waiting connections again at once.
    private static let exhaustionPause = Duration.milliseconds(100)

    private let core: LoopCore
    private let lowWaterMark: Int
    private let accept: (any ByteStream) -> (any ByteStreamHandler)?
    private var connection: OpaquePointer?
    private var isReleased = false
    private var onClosed: [() -> Void] = []

    private init(
        core: LoopCore, port: Int, lowWaterMark: Int,
        accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) {
        self.core = core
        self.port = port
        self.lowWaterMark = lowWaterMark
        self.accept = accept
    }

    /// Opens a socket and has the library watch it.
    static func open(
        _ request: ListenRequest, on core: LoopCore, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> ListeningSocket {
        guard (0...65_535).contains(request.port) else {
            throw ByteStreamError(.unlistenable, "\(request.port) is not a port")
        }
        let descriptor = clws_listen(request.address, CInt(request.port), CInt(clamping: request.backlog))
        guard descriptor >= 0 else {
            let problem = String(cString: clws_problem())
            throw ByteStreamError(
                .unlistenable, "port \(request.port) of \(request.address) is not to be had: \(problem)")
        }
        let socket = ListeningSocket(
            core: core, port: Int(clws_bound_port(descriptor)), lowWaterMark: request.lowWaterMark, accept: accept)
        try socket.adopt(descriptor)
        return socket
    }

    private func adopt(_ descriptor: CInt) throws(ByteStreamError) {
        guard let host = self.core.listeningHost else {
            clws_discard(descriptor)
            throw ByteStreamError(.unavailable, "the library could not make a vhost")
        }
        let user = Unmanaged.passRetained(self).toOpaque()
        guard let connection = clws_adopt_listener(host, descriptor, user) else {
            self.release()
            throw ByteStreamError(.unavailable, "the library could not take a listening socket")
        }
        self.connection = connection
        self.core.add(self)
    }

    func close(_ onClosed: @escaping () -> Void) {
        guard let connection = self.connection else { return self.core.loop.executeLocally(onClosed) }
        self.onClosed.append(onClosed)
        clws_kill(connection)
    }

    // MARK: Events of the library

    func incoming() {
        for _ in 0..<Self.turnLimit {
            guard let connection = self.connection else { return }
            let descriptor = clws_accept(connection)
            if descriptor == -2 { return self.pause() }
            guard descriptor >= 0 else { return }
            self.core.adopt(descriptor, lowWaterMark: self.lowWaterMark, accept: self.accept)
        }
    }

    func destroyed() {
        self.connection = nil
        self.core.remove(self)
        let waiting = self.onClosed
        self.onClosed = []
        for tell in waiting { tell() }
        self.release()
    }

    /// Stops looking at those who wait, for a while.
    private func pause() {
        guard let connection = self.connection else { return }
        lws_rx_flow_control(connection, 0)
        self.core.loop.scheduleLocally(after: Self.exhaustionPause) { self.resume() }
    }

    private func resume() {
        if let connection = self.connection { lws_rx_flow_control(connection, 1) }
    }

    private func release() {
        guard !self.isReleased else { return }
        self.isReleased = true
        Unmanaged.passUnretained(self).release()
    }
}

/// Forwards an event of the library to the listening socket it belongs to.
func listenCallback(
    _ user: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ event: clws_listen_event
) -> CInt {
    guard let user else { return 0 }
    let socket = Unmanaged<ListeningSocket>.fromOpaque(user).takeUnretainedValue()
    switch event {
    case .incoming: socket.incoming()
    case .destroyed: socket.destroyed()
    }
    return 0
}
