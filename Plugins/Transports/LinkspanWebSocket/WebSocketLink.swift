internal import Linkspan
internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient
internal import LinkspanWebSocketProtocol

/// A link over a WebSocket of its own.
final class WebSocketLink: Link {
    private enum State: Sendable {
        case idle
        case opening(WebSocketChannel)
        case open(WebSocketChannel)
        case ended
    }

    private let request: LinkRequest
    private let configuration: WebSocketTransport.Configuration
    private let loop: EventLoop
    private let receiver: any LinkReceiver
    private let attachmentsTimeout: Duration
    private let state = Lock(State.idle)
    /// Touched on the loop's thread only.
    private let assembly: Lock<EnvelopeAssembly>
    /// Whether a timer runs that looks for attachments that are overdue.
    private let isWatching = Lock(false)

    /// Makes a link.
    ///
    /// - Parameters:
    ///   - request: where to, as whom, for how long.
    ///   - configuration: how.
    ///   - loop: the loop it lives on.
    ///   - receiver: hears what happens.
    ///   - attachmentsTimeout: how long the attachments of one message may take to come; the default is Socket.IO's.
    init(
        request: LinkRequest, configuration: WebSocketTransport.Configuration, loop: EventLoop,
        receiver: any LinkReceiver, attachmentsTimeout: Duration = .seconds(30)
    ) {
        self.request = request
        self.configuration = configuration
        self.loop = loop
        self.receiver = receiver
        self.attachmentsTimeout = attachmentsTimeout
        self.assembly = Lock(
            EnvelopeAssembly(codec: configuration.codec, maximumBytes: configuration.maximumMessageBytes))
    }

    func open() {
        let path = self.request.url.path
        let upgrade = UpgradeRequest(
            self.request, path: path, headers: self.configuration.headers.map { ($0.name, $0.value) },
            tls: self.configuration.tls, proxy: self.configuration.proxy)
        let request = WebSocketRequest(
            upgrade: upgrade, subprotocols: self.configuration.codec.subprotocols + self.configuration.subprotocols,
            limits: .defaults { $0.maxMessageBytes = self.configuration.maximumMessageBytes },
            compression: self.configuration.compression.map { WebSocketCompression($0) },
            keepAlive: self.configuration.keepAlive.map { .init(interval: $0.interval, timeout: $0.timeout) },
            highWaterMark: self.configuration.highWaterMark)
        do {
            let channel = try WebSocketChannel(request, on: self.loop, handler: self)
            let mayOpen = self.state.withLock { state in
                guard case .idle = state else { return false }
                state = .opening(channel)
                return true
            }
            // Otherwise it was ended before it could begin.
            if mayOpen { channel.open() }
        } catch {
            let failure = LinkspanError(.invalidConfiguration, "the WebSocket request is not valid", cause: error)
            self.loop.execute { self.end(failure) }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        let envelope = Envelope.event(name: message.event, payload: message.payload, id: message.requestID)
        return self.send(envelope, message.payload)
    }

    func reply(to id: UInt64, with payload: Payload) {
        _ = self.send(.reply(id: id, payload: payload), payload)
    }

    func close() {
        let closing = self.configuration.closing
        self.leave { $0.close(CloseCode(rawValue: closing.code), reason: closing.reason) }
    }

    func abort() { self.leave { $0.abort() } }

    /// Ends the channel, which then reports its end; without one the link has ended here and now.
    private func leave(_ endChannel: (WebSocketChannel) -> Void) {
        let (channel, wasIdle) = self.state.withLock { state -> (WebSocketChannel?, Bool) in
            switch state {
            case .open(let channel), .opening(let channel):
                return (channel, false)
            case .idle:
                state = .ended
                return (nil, true)
            case .ended:
                return (nil, false)
            }
        }
        if let channel { endChannel(channel) }
        if wasIdle { self.loop.execute { self.receiver.receive([.closed(LinkspanError(WebSocketEnd.aborted))]) } }
    }

    func pauseReading() { self.openChannel?.pauseReading() }

    func resumeReading() { self.openChannel?.resumeReading() }

    private var openChannel: WebSocketChannel? {
        self.state.withLock { state in
            if case .open(let channel) = state { channel } else { nil }
        }
    }

    private func send(_ envelope: Envelope, _ payload: Payload) -> SendAcceptance {
        guard let channel = self.openChannel else { return .refused }
        return self.send(envelope, payload, over: channel)
    }

    private func send(_ envelope: Envelope, _ payload: Payload, over channel: WebSocketChannel) -> SendAcceptance {
        var encoded: [UInt8] = []
        let kind: EncodedKind
        do throws(LinkspanError) {
            encoded.reserveCapacity(payload.elements.count + 64)
            kind = try self.configuration.codec.encode(envelope, to: &encoded)
        } catch {
            return .rejected(error)
        }
        let result = channel.send(
            kind == .text ? .text : .binary, expectedLength: encoded.count,
            attachments: kind == .selfContained ? [] : payload.attachments
        ) { $0.append(contentsOf: encoded) }
        switch result {
        case .sent: return .accepted
        case .full: return .acceptedAndFull
        case .notOpen: return .refused
        }
    }
}

// MARK: - What the channel reports, on the loop's thread

extension WebSocketLink: WebSocketChannelHandler {
    func opened(subprotocol: String?) {
        let channel = self.state.withLock { state -> WebSocketChannel? in
            guard case .opening(let channel) = state else { return nil }
            return channel
        }
        guard let channel else { return }
        if let auth = self.request.credentials.auth {
            if case .rejected(let error) = self.send(.auth(auth), .empty, over: channel) {
                self.end(error)
                return channel.abort()
            }
        }
        self.state.withLock { $0 = .open(channel) }
        var facts = ["protocol": "WebSocket", "codec": self.configuration.codec.name]
        facts["subprotocol"] = subprotocol
        self.receiver.receive([.opened(LinkInfo(facts: facts))])
    }

    func received(_ messages: [WebSocketMessage]) {
        var events: [LinkEvent] = []
        events.reserveCapacity(messages.count)
        var failure: LinkspanError?
        self.assembly.withLock { assembly in
            do throws(LinkspanError) {
                for message in messages {
                    if let event = try assembly.receive(message) { events.append(event) }
                }
            } catch {
                failure = error
            }
        }
        if !events.isEmpty, self.openChannel != nil { self.receiver.receive(events) }
        self.watchAttachments()
        if let failure { self.fail(failure, .invalidPayload) }
    }

    /// Makes sure that a message which lacks attachments is looked at again.
    private func watchAttachments() {
        let begun = self.assembly.withLock { $0.isCollecting ? $0.begun : nil }
        guard let begun else { return }
        let wasWatching = self.isWatching.withLock { isWatching in
            defer { isWatching = true }
            return isWatching
        }
        guard !wasWatching else { return }
        self.loop.schedule(after: self.attachmentsTimeout) { [weak self] in
            guard let self else { return }
            self.isWatching.withLock { $0 = false }
            guard self.assembly.withLock({ $0.isCollecting && $0.begun == begun }) else {
                return self.watchAttachments()
            }
            self.fail(
                LinkspanError(.protocolViolation, "the attachments of a message did not come in time"),
                .policyViolation)
        }
    }

    private func fail(_ error: LinkspanError, _ code: CloseCode) {
        let channel = self.openChannel
        self.end(error)
        channel?.close(code, reason: error.message)
    }

    func drained() {
        if self.openChannel != nil { self.receiver.receive([.writable]) }
    }

    func closed(_ end: WebSocketEnd) {
        var error = LinkspanError(end)
        // Only what the server says itself is for the app to interpret.
        if case .closed(let event) = end, event.violation == nil,
            let meaning = self.configuration.closeMeanings[event.code.rawValue]
        {
            error.code = meaning.code
        }
        self.end(error)
    }

    private func end(_ error: LinkspanError) {
        let isFirst = self.state.withLock { state in
            if case .ended = state { return false }
            state = .ended
            return true
        }
        if isFirst { self.receiver.receive([.closed(error)]) }
    }
}
