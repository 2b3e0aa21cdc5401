internal import CLibwebsockets

/// The half of a listener that lives on the loop's thread.
///
/// It is the library's user data: retained once when the socket is given to the library, and released once when the library
/// says that it closed it.
final class ListeningSocket {
    struct Request: Sendable {
        var address: String
        var port: Int
        var backlog: Int
        var lowWaterMark: Int
    }

    /// The most connections that are accepted in one go: others are served in between.
    private static let turnLimit = 64
    /// How long nobody is accepted when the process has no descriptor left: those who wait would be told of again at once.
    private static let exhaustionPause = Duration.milliseconds(100)

    private let core: LoopCore
    private let lowWaterMark: Int
    private let accept: Listener.Acceptor
    private var connection: OpaquePointer?
    private var isReleased = false
    private var onClosed: [() -> Void] = []
    /// How jobs of the loop reach it, which is no more to be reached once it is closed.
    private let box: LoopConfined<ListeningSocket?>

    private init(core: LoopCore, lowWaterMark: Int, accept: @escaping Listener.Acceptor) {
        self.core = core
        self.lowWaterMark = lowWaterMark
        self.accept = accept
        self.box = LoopConfined(nil, on: core.loop.identity)
        self.box.value = self
    }

    /// Opens a socket and has the library watch it.
    static func open(
        _ request: Request, on core: LoopCore, accept: @escaping Listener.Acceptor
    ) throws(ByteStreamError) -> Listener {
        guard (0...65_535).contains(request.port) else {
            throw ByteStreamError(.unlistenable, "\(request.port) is not a port")
        }
        let descriptor = clws_listen(request.address, CInt(request.port), CInt(clamping: request.backlog))
        guard descriptor >= 0 else {
            let problem = String(cString: clws_problem())
            throw ByteStreamError(
                .unlistenable, "port \(request.port) of \(request.address) is not to be had: \(problem)")
        }
        let port = Int(clws_bound_port(descriptor))
        let half = ListeningSocket(core: core, lowWaterMark: request.lowWaterMark, accept: accept)
        try half.adopt(descriptor)
        return Listener(loop: core.loop, port: port, half: half.box)
    }

    private func adopt(_ descriptor: CInt) throws(ByteStreamError) {
        guard let host = self.core.listeningHost else {
            self.box.value = nil
            clws_discard(descriptor)
            throw ByteStreamError(.unavailable, "the library could not make a vhost")
        }
        let user = Unmanaged.passRetained(self).toOpaque()
        guard let connection = clws_adopt_listener(host, descriptor, user) else {
            self.box.value = nil
            self.release()
            throw ByteStreamError(.unavailable, "the library could not take a listening socket")
        }
        self.connection = connection
        self.core.add(self)
    }

    func close(_ onClosed: @escaping () -> Void) {
        guard let connection = self.connection else { return onClosed() }
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
        self.box.value = nil
        let waiting = self.onClosed
        self.onClosed = []
        for tell in waiting { tell() }
        self.release()
    }

    /// Stops looking at those who wait, for a while.
    private func pause() {
        guard let connection = self.connection else { return }
        lws_rx_flow_control(connection, 0)
        let box = self.box
        self.core.loop.schedule(after: Self.exhaustionPause) { box.value?.resume() }
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
