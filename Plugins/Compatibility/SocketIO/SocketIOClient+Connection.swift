internal import Foundation
public import Linkspan
internal import LinkspanRuntime

extension SocketIOClient {
    /// The connection under the socket, for code that is new: both send and listen on it, and end it.
    ///
    /// The same as long as the socket lives. A socket that was never connected connects for it. Nil when the manager is gone, or
    /// its URL or its options cannot be used.
    public var connection: ConnectionHandler? {
        if self.state.withLock({ $0.handler == nil }) { self.connect() }
        return self.state.withLock { $0.handler }
    }

    /// Returns the connection, made by the first call; messages that come before a listener are held for it.
    func handler(of manager: SocketManager) throws(LinkspanError) -> ConnectionHandler {
        // All of it under the lock, so that two threads do not make two; none of it calls back.
        try self.state.withLock { state throws(LinkspanError) in
            if let handler = state.handler { return handler }
            let handler = try self.connections.prepare(try manager.configuration(for: self))
            handler.onStatusChange { [weak self, queue] change in
                let period = self?.state.withLock { $0.period }
                queue.post(.call { self?.follow(change, in: period) })
            }
            for event in state.heard { try self.listen(to: event, on: handler) }
            state.handler = handler
            return handler
        }
    }

    /// Begins to listen to an event, or with nil to those that have no handlers; the connection holds those of others for
    /// listeners of its own.
    func hear(_ event: String?) {
        let handler = self.state.withLock { $0.heard.insert(event).inserted ? $0.handler : nil }
        if let handler { try? self.listen(to: event, on: handler) }
    }

    private func listen(to event: String?, on handler: ConnectionHandler) throws(LinkspanError) {
        if let event {
            try handler.on(event) { [weak self] message in if let self { self.queue.post(.message(message, self)) } }
        } else {
            try handler.onAny { [weak self] message in
                guard let self, !self.state.withLock({ $0.heard.contains(message.event) }) else { return }
                self.queue.post(.message(message, self))
            }
        }
    }

    /// Calls the handlers of a received message; on the queue.
    func receive(_ message: Message) {
        let number = message.wantsReply ? self.state.withLock { $0.questions.add(message.detached()) } : -1
        self.handleEvent(message.event, data: message.payload.arguments, isInternalMessage: false, withAck: number)
    }

    // MARK: What happens to the connection, told on the queue

    private func follow(_ change: StatusChange, in period: UUID?) {
        let state = self.state.withLock { $0 }
        // A change of a link that the app has left since does not count, though it may have connected again.
        guard let period, state.period == period, let handler = state.handler else { return }
        switch change {
        case .progress(.opening):
            guard let attempts = state.attempts else { return }
            self.state.withLock { $0.attempts = attempts + 1 }
            self.tell(.reconnectAttempt, [self.terms.withLock { $0.retry.attempts } - attempts])
        case .progress(.waiting):
            self.state.withLock { $0.attempts = state.attempts ?? 0 }
            if let error = handler.status.lastError { self.tell(error) }
        case .progress: ()
        case .state(let change): self.follow(change)
        }
    }

    private func follow(_ change: StateChange) {
        switch (change.to, change.reason) {
        case (.connected, .established(let info)):
            self.state.withLock { $0.attempts = nil }
            return self.didConnect(toNamespace: self.nsp, payload: info.sessionID.map { ["sid": $0] })
        case (.disconnected, .lost(let error)):
            if self.status == .connected { self.setReconnecting(reason: error.message) }
        case (.disconnected, .failed(let error)) where error.code == .closedByServer:
            self.didDisconnect(reason: "Got Disconnect")
        case (.disconnected, .failed(let error)):
            self.tell(error)
            let hasTried = self.terms.withLock { $0.retry.isWanted } && !error.isPermanent
            self.didDisconnect(reason: hasTried ? "Reconnect Failed" : error.message)
        case (.disconnected, .requested) where self.status == .connected && self.state.withLock({ $0.isRenewed }):
            self.setReconnecting(reason: "manual reconnect")
        case (.disconnected, .requested) where self.status == .connected: self.didDisconnect(reason: "Disconnect")
        default: return
        }
        self.state.withLock { $0.endLink() }
    }

    /// The facts of the link, or nil for a ping with its answer.
    func note(_ info: LinkInfo?) {
        guard let info else {
            for event in [SocketClientEvent.ping, .pong] where self.status == .connected { self.tell(event, []) }
            return
        }
        let isOver = info.facts["carrier"] == "websocket"
        var wasOver = isOver
        self.state.withLock { swap(&$0.isOverWebSocket, &wasOver) }
        // Once for all that share the WebSocket. The old library gave the headers of the response.
        let isKnown = self.manager?.nsps.values.contains { $0 !== self && $0.state.withLock { $0.isOverWebSocket } }
        guard isOver, !wasOver, isKnown == false else { return }
        self.manager?.emitAll(clientEvent: .websocketUpgrade, data: [[String: String]()])
    }

    private func tell(_ error: LinkspanError) { self.tell(.error, error.details?.arguments ?? [error.message]) }

    /// Calls the handlers of a client event on the queue: within this call if that is where it is made.
    func tell(_ event: SocketClientEvent, _ data: [Any]) {
        self.queue.run { [weak self] in self?.handleClientEvent(event, data: data) }
    }

    /// The socket in logs; a query of its namespace may hold a token.
    var label: String { "SocketIOClient{\(self.nsp.prefix { !"?#".contains($0) })}" }

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
        if let logger = DefaultSocketLogger.active { self.queue.run { logger.log("emits \(event)", type: self.label) } }
        func fail(_ data: [Any]) {
            self.tell(.error, data)
            self.queue.post(.call { done?(nil) })
        }
        let (isActive, isUp, handler) = self.state.withLock { ($0.status.active, $0.status == .connected, $0.handler) }
        guard let handler, isActive, isUp || !self.terms.withLock({ $0.dropsOffline }) else {
            return fail(["Tried emitting when not connected"])
        }
        do {
            let payload = try Payload(arguments: items)
            // Over an open link an emit without a callback needs no outcome, which would cost a closure each; but a large
            // one may be more than the server accepts.
            let end = isUp && done == nil && payload.byteCount < 512 ? nil : self.outcome(event, items, done)
            try handler.perform(Command(kind, event: event, payload: payload, timeout: limit, completion: end))
        } catch {
            fail([event, items, error])
        }
    }

    /// Calls `done` on the queue, after a client event if the emit has failed otherwise than by its time limit.
    private func outcome(
        _ event: String, _ items: Any, _ done: ((Payload?) -> Void)?
    ) -> @Sendable (Result<Payload, LinkspanError>) -> Void {
        { [weak self, queue] outcome in
            if done == nil, case .success = outcome { return }
            queue.post(
                .call {
                    if case .failure(let error) = outcome, error.code != .timedOut {
                        self?.tell(.error, [event, items, error])
                    }
                    done?(try? outcome.get())
                })
        }
    }
}
