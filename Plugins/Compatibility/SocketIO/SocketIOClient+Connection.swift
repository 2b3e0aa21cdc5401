internal import Foundation
public import Linkspan
internal import LinkspanRuntime

/// The connection of a socket, and how far it has come.
struct LinkState {
    var handler: ConnectionHandler?
    /// True from `connect` to `disconnect`, also while the connection is down.
    var isWanted = false
    var payload: Payload?
    /// The events that have handlers, or had.
    var heard: Set<String?> = []
    var carrier: String?
    /// The attempts since the first one failed or the link was lost; nil before that.
    var attempts: Int?
}

extension SocketIOClient {
    /// The connection under the socket, for code that is new: both send and listen on it, and end it.
    ///
    /// The same as long as the socket lives. A socket that was never connected connects for it. Nil when the manager is gone, or
    /// its URL or its options cannot be used.
    public var connection: ConnectionHandler? {
        if let handler = self.state.withLock({ $0.link.handler }) { return handler }
        self.connect()
        return self.state.withLock { $0.link.handler }
    }

    /// Takes a connection, unless there is one; messages that it has received before are held for its listeners.
    func adopt(_ handler: ConnectionHandler) throws(LinkspanError) {
        let events = self.state.withLock { state in
            guard state.link.handler == nil else { return nil as Set<String?>? }
            state.link.handler = handler
            return state.link.heard
        }
        guard let events else { return }
        handler.onStatusChange { [weak self, queue] change in queue.post(.call { [weak self] in self?.follow(change) }) }
        for event in events { try self.listen(to: event, on: handler) }
    }

    /// Begins to listen to an event, or with nil to those that have no handlers; the connection holds those of others for
    /// listeners of its own.
    func hear(_ event: String?) {
        let handler = self.state.withLock { $0.link.heard.insert(event).inserted ? $0.link.handler : nil }
        if let handler { try? self.listen(to: event, on: handler) }
    }

    private func listen(to event: String?, on handler: ConnectionHandler) throws(LinkspanError) {
        if let event {
            try handler.on(event) { [weak self] message in
                if let self { self.queue.post(.message(message, self)) }
            }
        } else {
            try handler.onAny { [weak self] message in
                guard let self, !self.state.withLock({ $0.link.heard.contains(message.event) }) else { return }
                self.queue.post(.message(message, self))
            }
        }
    }

    /// A message has come; on the queue.
    func receive(_ message: Message) {
        let number = message.wantsReply ? self.state.withLock { $0.questions.add(message.detached()) } : -1
        self.handleEvent(message.event, data: message.payload.arguments, isInternalMessage: false, withAck: number)
    }

    // MARK: What happens to the connection, told on the queue

    private func follow(_ change: StatusChange) {
        let link = self.state.withLock { $0.link }
        guard link.isWanted, let handler = link.handler else { return }
        switch change {
        case .progress(.opening):
            guard let attempts = link.attempts else { return }
            self.state.withLock { $0.link.attempts = attempts + 1 }
            self.tell(.reconnectAttempt, [self.terms.withLock { $0.retry.attempts } - attempts])
        case .progress(.waiting):
            self.state.withLock { $0.link.attempts = link.attempts ?? 0 }
            if let error = handler.status.lastError { self.tell(error) }
        case .progress: ()
        case .state(let change): self.follow(change, of: handler)
        }
    }

    private func follow(_ change: StateChange, of handler: ConnectionHandler) {
        switch (change.to, change.reason) {
        case (.connected, .established(let info)):
            self.state.withLock { $0.link.attempts = nil }
            return self.didConnect(toNamespace: self.nsp, payload: info.sessionID.map { ["sid": $0] })
        case (.disconnected, .lost(let error)):
            if self.status == .connected { self.setReconnecting(reason: error.message) }
        case (.disconnected, .failed(let error)) where error.code == .closedByServer:
            self.didDisconnect(reason: "Got Disconnect")
        case (.disconnected, .failed(let error)):
            self.tell(error)
            let hasTried = self.terms.withLock { $0.retry.isWanted } && !error.isPermanent
            self.didDisconnect(reason: hasTried ? "Reconnect Failed" : error.message)
        case (.disconnected, .requested) where self.status == .connected && handler.state == .disconnected:
            self.didDisconnect(reason: "Disconnect")
        case (.disconnected, .requested) where self.status == .connected:
            self.setReconnecting(reason: "manual reconnect")
        default: return
        }
        self.state.withLock { state in
            (state.link.carrier, state.link.attempts) = (nil, nil)
            state.questions.removeAll()
        }
    }

    func note(_ notice: ManagedTransport.Notice) {
        switch notice {
        case .alive:
            for event in [SocketClientEvent.ping, .pong] where self.status == .connected { self.tell(event, []) }
        case .carrier(let carrier):
            let former = self.state.withLock { $0.link.carrier }
            self.state.withLock { $0.link.carrier = carrier }
            // Where the response's headers were.
            if carrier == "websocket", former != carrier { self.tell(.websocketUpgrade, [[String: String]()]) }
        }
    }

    private func tell(_ error: LinkspanError) { self.tell(.error, error.details?.arguments ?? [error.message]) }

    /// Calls the handlers of a client event on the queue: within this call if that is where it is made.
    func tell(_ event: SocketClientEvent, _ data: [Any]) {
        if event == .error {
            DefaultSocketLogger.Logger.error("\(data.first ?? "")", type: "SocketIOClient{\(self.nsp)}")
        }
        self.queue.run { [weak self] in self?.handleClientEvent(event, data: data) }
    }

    func log(_ text: @autoclosure () -> String) {
        DefaultSocketLogger.active?.log(text(), type: "SocketIOClient{\(self.nsp)}")
    }

    // MARK: Sending

    func request<Item>(_ event: String, _ items: [Item]) -> OnAckCallback {
        OnAckCallback { [weak self] seconds, callback in
            guard let self else { return }
            let number = self.state.withLock { $0.acks.add(callback) }
            let limit = seconds > 0 ? Duration.seconds(min(seconds, 1e9)) : nil
            self.perform(.request, event, items, within: limit) { [weak self] payload in
                if let payload { return self?.handleAck(number, data: payload.arguments) ?? () }
                let callback = self?.state.withLock { $0.acks.remove(number) }
                if limit != nil { callback?([SocketAckStatus.noAck.rawValue]) }
            }
        }
    }

    /// Sends an event, and calls `done` on the queue: with nil when it has failed.
    func perform<Item>(
        _ kind: Command.Kind, _ event: String, _ items: [Item], within limit: Duration? = nil,
        done: ((Payload?) -> Void)? = nil
    ) {
        self.log("emits \(event)")
        let (status, handler) = self.state.withLock { ($0.status, $0.link.handler) }
        guard let handler, status == .connected || !self.terms.withLock({ $0.dropsOffline }) else {
            self.tell(.error, ["Tried emitting when not connected"])
            return self.queue.post(.call { done?(nil) })
        }
        do {
            // What a link that is up takes at once, and nobody asks for, goes without the cost of an outcome.
            let completion = done == nil && status == .connected ? nil : self.outcome(of: event, items, done)
            let payload = try Payload(arguments: items)
            try handler.perform(
                Command(kind, event: event, payload: payload, timeout: limit, completion: completion))
        } catch {
            self.failed(error, event, items, done)
        }
    }

    private func outcome(
        of event: String, _ items: Any, _ done: ((Payload?) -> Void)?
    ) -> @Sendable (Result<Payload, LinkspanError>) -> Void {
        { [weak self, queue] outcome in
            switch outcome {
            case .success(let payload): if let done { queue.post(.call { done(payload) }) }
            case .failure(let error): self?.failed(error.code == .timedOut ? nil : error, event, items, done)
            }
        }
    }

    /// An emit has failed: calls `done` after a client event, of which there is none without an error.
    private func failed(_ error: (any Error)?, _ event: String, _ items: Any, _ done: ((Payload?) -> Void)?) {
        self.queue.post(.call {
            if let error { self.tell(.error, [event, items, error]) }
            done?(nil)
        })
    }
}
