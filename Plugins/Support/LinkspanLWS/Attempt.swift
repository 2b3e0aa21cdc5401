#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A connection to one address that is being set up: TCP, then the proxy's agreement if there is a proxy.
///
/// Several of a stream race; see ``StreamStateMachine``. The library gets the socket of the one that wins.
final class Attempt: Watched {
    /// The peer.
    enum Place {
        /// A numeric address.
        case address(String, port: Int)
        /// A Unix-domain socket.
        case path(String)
    }

    private enum Stage {
        case connecting
        case proxy(ProxyHandshake)
    }

    /// Nil once it has ended.
    private var stream: LoopStream?
    private let core: LoopCore
    private var descriptor: CInt?
    /// The events that the poller watches for.
    private var watched = CInt(clws_unwatched)
    private var stage = Stage.connecting
    /// The bytes that the proxy is still to be sent.
    private var unsent: [UInt8] = []

    init(_ stream: LoopStream) {
        self.stream = stream
        self.core = stream.core
    }

    /// Whether TCP is there.
    var isConnected: Bool { if case .connecting = self.stage { false } else { true } }

    /// Begins to connect.
    func begin(_ place: Place) {
        let descriptor =
            switch place {
            case .address(let address, let port): clws_dial(address, CInt(port))
            case .path(let path): clws_dial_path(path)
            }
        guard descriptor >= 0 else { return self.fail(.connect(SystemProblem.text(of: -descriptor))) }
        self.descriptor = descriptor
        self.watch(for: CInt(clws_ready_to_write))
    }

    /// Gives it up; nothing more is heard of it.
    func close() {
        self.stream = nil
        guard let descriptor = self.descriptor.take() else { return }
        self.core.poller.unwatch(descriptor, former: self.watched)
        clws_discard(descriptor)
        self.core.keepForTurn(self)
    }

    override func ready(_ events: CInt) {
        guard let descriptor = self.descriptor, let stream = self.stream else { return }
        guard !self.isConnected else { return self.proxyReady(descriptor, events) }
        let problem = clws_dial_problem(descriptor)
        guard problem == 0 else { return self.fail(.connect(SystemProblem.text(of: problem))) }
        stream.reached(self)
        guard let proxy = stream.request.proxy else { return self.arrive() }
        let handshake = ProxyHandshake(proxy, for: stream.request)
        self.stage = .proxy(handshake)
        self.send(handshake.greeting)
    }

    private func proxyReady(_ descriptor: CInt, _ events: CInt) {
        if events & CInt(clws_ready_to_write) != 0 { self.send([]) }
        guard events & CInt(clws_ready_to_read | clws_ready_over) != 0, self.descriptor == descriptor else { return }
        let buffer = clws_receive_buffer(self.core.raw)
        var count = 0
        let outcome = clws_read(descriptor, nil, buffer, Int(clws_receive_size), &count)
        guard count > 0 else {
            if outcome == .over { self.fail(.rejected(ProxyHandshake.hungUp)) }
            return
        }
        self.received(UnsafeRawBufferPointer(start: buffer, count: count))
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        guard case .proxy(var handshake) = self.stage else { return }
        let step = handshake.received(bytes)
        self.stage = .proxy(handshake)
        switch step {
        case .more: ()
        case .send(let bytes): self.send(bytes)
        case .done: self.arrive()
        case .failed(let error): self.fail(.rejected(error))
        }
    }

    private func send(_ bytes: [UInt8]) {
        guard let descriptor = self.descriptor else { return }
        self.unsent += bytes
        let count = clws_dial_send(descriptor, self.unsent, self.unsent.count)
        // Of a connection that is broken, reading tells.
        self.unsent.removeFirst(count < 0 ? self.unsent.count : Int(count))
        self.watch(for: CInt(self.unsent.isEmpty ? clws_ready_to_read : clws_ready_to_read | clws_ready_to_write))
    }

    private func watch(for events: CInt) {
        guard let descriptor = self.descriptor, events != self.watched else { return }
        guard self.core.poller.watch(descriptor, of: self, former: self.watched, events) else {
            return self.fail(.rejected(ByteStreamError(.unavailable, "the system cannot watch another socket")))
        }
        self.watched = events
    }

    private func fail(_ failure: DialFailure) {
        guard let stream = self.stream else { return }
        self.close()
        stream.failed(self, failure)
    }

    /// Hands the socket over: nobody has sent anything on it that is not read.
    private func arrive() {
        guard let stream = self.stream, let descriptor = self.descriptor.take() else { return }
        self.stream = nil
        self.core.poller.unwatch(descriptor, former: self.watched)
        self.core.keepForTurn(self)
        stream.arrived(self, descriptor)
    }
}
#endif
