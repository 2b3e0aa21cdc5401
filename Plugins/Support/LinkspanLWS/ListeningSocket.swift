#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A port at which a loop accepts streams.
final class ListeningSocket: Watched, ByteListener, LoopMember {
    let port: Int

    /// The most connections that are accepted in one go: others are served in between.
    private static let turnLimit = 64
    /// The pause before the next connection is accepted when the process has no descriptor left.
    ///
    /// Without it, the system would report the waiting connections again at once.
    private static let exhaustionPause = Duration.milliseconds(100)

    private let members: LoopMembers
    private let poller: Poller
    private let path: String?
    /// Takes the descriptor of a connection that has come in.
    private let accept: (CInt) -> Void
    /// The socket, nil once it is closed.
    private var descriptor: CInt?
    /// The events that the poller watches for.
    private var watched = CInt(clws_unwatched)

    private init(
        _ descriptor: CInt, path: String?, members: LoopMembers, poller: Poller, accept: @escaping (CInt) -> Void
    ) {
        self.members = members
        self.poller = poller
        self.path = path
        self.descriptor = descriptor
        self.port = Int(clws_bound_port(descriptor))
        self.accept = accept
    }

    /// Opens a socket and has the loop watch it.
    static func open(
        _ request: ListenRequest, members: LoopMembers, poller: Poller, accept: @escaping (CInt) -> Void
    ) throws(ByteStreamError) -> ListeningSocket {
        try request.validated()
        let descriptor =
            if let path = request.path { clws_listen_path(path, ListenRequest.backlog) } else {
                clws_listen(request.address, CInt(request.port), ListenRequest.backlog)
            }
        guard descriptor >= 0 else {
            let problem = clws_problem()
            throw request.unavailable(SystemProblem.text(of: problem), isTaken: clws_is_taken(problem))
        }
        let socket = ListeningSocket(
            descriptor, path: request.path, members: members, poller: poller, accept: accept)
        guard socket.watch(true) else {
            socket.close()
            throw ByteStreamError(.unavailable, "the system cannot watch another socket")
        }
        members.add(socket)
        return socket
    }

    func close(_ onClosed: @escaping () -> Void) {
        self.close()
        self.members.loop.executeLocally(onClosed)
    }

    /// Gives the port up.
    func close() {
        guard let descriptor = self.descriptor.take() else { return }
        self.poller.unwatch(descriptor, of: self, former: self.watched)
        clws_discard(descriptor)
        if let path = self.path { clws_remove_path(path) }
        self.members.remove(self)
    }

    func flush() {}

    func abort(_ error: ByteStreamError) { self.close() }

    override func ready(_ events: CInt) {
        for _ in 0..<Self.turnLimit {
            guard let descriptor = self.descriptor else { return }
            let accepted = clws_accept(descriptor)
            if accepted == -2 { return self.pause() }
            guard accepted >= 0 else { return }
            self.accept(accepted)
        }
    }

    /// Stops looking at those who wait, for a while.
    private func pause() {
        guard self.watch(false) else { return }
        self.members.loop.scheduleLocally(after: Self.exhaustionPause) { _ = self.watch(true) }
    }

    private func watch(_ isAccepting: Bool) -> Bool {
        guard let descriptor = self.descriptor else { return false }
        let events = isAccepting ? CInt(clws_ready_to_read) : 0
        guard self.poller.watch(descriptor, of: self, former: self.watched, events) else { return false }
        self.watched = events
        return true
    }
}
#endif
