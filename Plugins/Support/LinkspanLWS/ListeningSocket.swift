#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A port at which a loop accepts streams.
final class ListeningSocket: Watched, ByteListener {
    let port: Int

    /// The most connections that are accepted in one go: others are served in between.
    private static let turnLimit = 64
    /// The pause before the next connection is accepted when the process has no descriptor left.
    ///
    /// Without it, the system would report the waiting connections again at once.
    private static let exhaustionPause = Duration.milliseconds(100)

    private let core: LoopCore
    private let path: String?
    private let lowWaterMark: Int
    private let accept: (any ByteStream) -> (any ByteStreamHandler)?
    /// The socket, nil once it is closed.
    private var descriptor: CInt?
    /// The events that the poller watches for.
    private var watched = CInt(clws_unwatched)

    private init(
        core: LoopCore, descriptor: CInt, path: String?, lowWaterMark: Int,
        accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) {
        self.core = core
        self.path = path
        self.descriptor = descriptor
        self.port = Int(clws_bound_port(descriptor))
        self.lowWaterMark = lowWaterMark
        self.accept = accept
    }

    /// Opens a socket and has the loop watch it.
    static func open(
        _ request: ListenRequest, on core: LoopCore, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> ListeningSocket {
        try request.validated()
        let backlog = CInt(clamping: request.backlog)
        let descriptor =
            if let path = request.path { clws_listen_path(path, backlog) } else {
                clws_listen(request.address, CInt(request.port), backlog)
            }
        guard descriptor >= 0 else {
            let problem = clws_problem()
            throw request.unavailable(SystemProblem.text(of: problem), isTaken: clws_is_taken(problem))
        }
        let socket = ListeningSocket(
            core: core, descriptor: descriptor, path: request.path, lowWaterMark: request.lowWaterMark, accept: accept)
        guard socket.watch(true) else {
            socket.close()
            throw ByteStreamError(.unavailable, "the system cannot watch another socket")
        }
        core.add(socket)
        return socket
    }

    func close(_ onClosed: @escaping () -> Void) {
        self.close()
        self.core.loop.executeLocally(onClosed)
    }

    /// Gives the port up.
    func close() {
        guard let descriptor = self.descriptor.take() else { return }
        self.core.poller.unwatch(descriptor, former: self.watched)
        clws_discard(descriptor)
        if let path = self.path { clws_remove_path(path) }
        self.core.remove(self)
    }

    override func ready(_ events: CInt) {
        for _ in 0..<Self.turnLimit {
            guard let descriptor = self.descriptor else { return }
            let accepted = clws_accept(descriptor)
            if accepted == -2 { return self.pause() }
            guard accepted >= 0 else { return }
            self.core.adopt(accepted, lowWaterMark: self.lowWaterMark, accept: self.accept)
        }
    }

    /// Stops looking at those who wait, for a while.
    private func pause() {
        guard self.watch(false) else { return }
        self.core.loop.scheduleLocally(after: Self.exhaustionPause) { _ = self.watch(true) }
    }

    private func watch(_ isAccepting: Bool) -> Bool {
        guard let descriptor = self.descriptor else { return false }
        let events = isAccepting ? CInt(clws_ready_to_read) : 0
        guard self.core.poller.watch(descriptor, of: self, former: self.watched, events) else { return false }
        self.watched = events
        return true
    }
}
#endif
