internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// A link over a WebSocket of its own; lives on its loop.
final class WebSocketLink: Link {
    private enum State: Equatable { case idle, opening, open, ended }

    /// The request, until it has been opened.
    private var request: Boxed<LinkRequest>?
    private let boxedConfiguration: Boxed<WebSocketConfiguration>
    private let codec: any EnvelopeCodec
    private let loop: any NetworkLoop
    private let receiver: any LinkReceiver
    private let attachmentsTimeout: Duration
    private var state = State.idle
    private var info = LinkInfo()
    /// Nil before it begins to open and after its end.
    @exclusivity(unchecked) private var owned: Owned<WebSocketChannel>?
    // Calls nobody but the codec, which does not know the link, so that no access meets another.
    @exclusivity(unchecked) private var assembly: EnvelopeAssembly
    /// Looks for attachments that are overdue; nil when none are awaited.
    private var watch: (any ScheduledWork)?
    /// The buffer in which messages are encoded.
    private var scratch: [UInt8] = []

    private static let keptScratch = 64 << 10
    /// The time for reading what has arrived when an attachment is overdue.
    private static let lastLook = Duration.milliseconds(10)

    /// Makes a link.
    ///
    /// - Parameters:
    ///   - request: where to, as whom, for how long.
    ///   - configuration: the transport's.
    ///   - loop: the loop it lives on.
    ///   - receiver: hears what happens.
    ///   - attachmentsTimeout: how long an attachment may take while no part of it comes; the default is Socket.IO's.
    init(
        request: LinkRequest, configuration: Boxed<WebSocketConfiguration>, loop: any NetworkLoop,
        receiver: any LinkReceiver, attachmentsTimeout: Duration = .seconds(30)
    ) {
        self.request = Boxed(request)
        self.boxedConfiguration = configuration
        self.codec = configuration.value.codec
        self.loop = loop
        self.receiver = receiver
        self.attachmentsTimeout = attachmentsTimeout
        self.assembly = EnvelopeAssembly(maximumBytes: configuration.value.maximumMessageBytes)
    }

    private var configuration: WebSocketConfiguration { self.boxedConfiguration.value }

    func open() {
        // Otherwise it was ended before it could begin.
        guard self.state == .idle, let opening = self.request?.value else { return }
        let configuration = self.configuration
        let request = StreamRequest(
            opening, path: opening.url.path, headers: configuration.headers.map { ($0.name, $0.value.exposed) },
            tls: configuration.tls, proxy: configuration.proxy, socketPath: configuration.socketPath)
        let terms = WebSocketTerms { terms in
            terms.limits.maxMessageBytes = configuration.maximumMessageBytes
            terms.highWaterMark = configuration.highWaterMark
            terms.keepAlive = configuration.keepAlive
            terms.answersPings = self.codec.answersPings
            terms.reportsControl = true
        }
        self.state = .opening
        let channel = WebSocketChannel(
            request, subprotocols: self.codec.subprotocols + configuration.subprotocols,
            compression: configuration.compression, terms: terms, on: self.loop, handler: self)
        self.owned = Owned(channel)
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        let envelope = Envelope.event(name: message.event, payload: message.payload, id: message.requestID)
        return self.send(envelope, message.payload.attachments, isCompressible: message.isCompressible)
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        self.send(.reply(id: id, payload: payload), payload.attachments)
    }

    func renewCredentials(_ credentials: Credentials) -> Bool {
        self.sendRenewal(credentials, by: self.configuration.renewalEvent)
    }

    func close(code: UInt16?, reason: String) {
        let standard = self.configuration.closing
        let (code, reason) = code.map { ($0, reason) } ?? (standard.code, standard.reason)
        self.leave { $0.close(CloseCode(rawValue: code), reason: reason) }
    }

    func abort() { self.leave { $0.abort() } }

    /// Ends the channel, which then reports its end; without one the link reports it.
    private func leave(_ endChannel: (WebSocketChannel) -> Void) {
        switch self.state {
        case .open, .opening: if let channel = self.owned?.object { endChannel(channel) }
        case .idle:
            self.state = .ended
            let receiver = self.receiver
            self.loop.executeLocally { receiver.receive([.closed(LinkspanError(WebSocketEnd.aborted))]) }
        case .ended: ()
        }
    }

    func saveData(_ savesData: Bool) { self.owned?.object.terms.savesData = savesData }

    func setReadingPaused(_ isPaused: Bool) { self.openChannel?.setReadingPaused(isPaused) }

    var resumption: Secret? { nil }

    var hasPendingBytes: Bool { self.openChannel.map { $0.pendingBytes > 0 } ?? false }

    var openingStage: String? {
        self.state == .opening ? self.owned?.object.openingStage.map { "\($0)" } : nil
    }

    private var openChannel: WebSocketChannel? {
        self.state == .open ? self.owned?.object : nil
    }

    private func send(
        _ envelope: consuming Envelope, _ attachments: [ArraySlice<UInt8>], isCompressible: Bool = true
    ) -> SendAcceptance {
        guard self.state == .open else { return .refused }
        switch self.owned {
        case .some(let owned):
            return self.send(envelope, attachments, isCompressible: isCompressible, over: owned.object)
        case nil: return .refused
        }
    }

    private func send(
        _ envelope: consuming Envelope, _ attachments: [ArraySlice<UInt8>], isCompressible: Bool = true,
        over channel: WebSocketChannel
    ) -> SendAcceptance {
        // The memory of the last message, unless that was large.
        var encoded: [UInt8] = []
        swap(&encoded, &self.scratch)
        encoded.removeAll(keepingCapacity: true)
        defer { if encoded.capacity <= Self.keptScratch { swap(&encoded, &self.scratch) } }
        let kind: EncodedKind
        do throws(LinkspanError) {
            kind = try self.codec.encode(envelope, to: &encoded)
        } catch {
            return .rejected(error)
        }
        return encoded.withUnsafeBufferPointer { encoded in
            if kind == .ping || kind == .pong {
                guard encoded.count <= 125 else {
                    return .rejected(LinkspanError(.encodingFailed, "a ping or pong has at most 125 bytes"))
                }
                return channel.sendControl(kind == .ping ? .ping : .pong, payload: encoded)
            }
            if kind == .selfContained {
                return channel.send(.binary, length: encoded.count, isCompressible: isCompressible) {
                    $0.append(contentsOf: encoded)
                }
            }
            return channel.send(
                kind == .text ? .text : .binary, length: encoded.count, attachments: attachments,
                isCompressible: isCompressible
            ) { $0.append(contentsOf: encoded) }
        }
    }
}

extension WebSocketLink {
    /// Sends what the codec has to say.
    private func sendFrame(_ frame: WebSocketMessage) {
        guard let channel = self.owned?.object else { return }
        _ = channel.send(frame.opcode, length: frame.bytes.count) { $0.append(contentsOf: frame.bytes) }
    }
}

// MARK: - What the channel reports

extension WebSocketLink: WebSocketChannelHandler {
    func opened(_ head: ResponseHead, subprotocol: String?) {
        guard self.state == .opening, let channel = self.owned?.object else { return }
        let auth = self.request?.value.credentials.auth
        self.request = nil
        if let auth {
            if case .rejected(let error) = self.send(.auth(auth), [], over: channel) {
                self.end(error)
                return channel.abort()
            }
        }
        do throws(LinkspanError) {
            for frame in try self.codec.sessionBegan() { self.sendFrame(frame) }
        } catch {
            self.end(error)
            return channel.abort()
        }
        self.state = .open
        var facts = ["protocol": "WebSocket", "carrier": "websocket", "codec": self.codec.name]
        facts["subprotocol"] = subprotocol
        self.info = LinkInfo(facts: facts)
        let names = self.configuration.responseHeaders
        for name in names.contains("*") ? head.names : names {
            self.info.headers += head.values(name.lowercased()).map { Credentials.Field(name, Secret($0)) }
        }
        self.receiver.receive([.opened(self.info)])
    }

    func answeredPing(after roundTrip: Duration) {
        guard self.state == .open else { return }
        self.info.roundTrip = roundTrip
        self.receiver.receive([.changed(self.info)])
    }

    func received(_ next: () -> WebSocketMessage?) {
        var failure: LinkspanError?
        self.receiver.receive {
            if let event = self.assembly.popPending() { return event }
            while let message = next() {
                // Nothing counts that comes behind the end.
                guard failure == nil, self.state == .open else { continue }
                do throws(LinkspanError) {
                    let event = try self.assembly.receive(consume message, by: self.codec)
                    if self.assembly.hasAnswers {
                        for answer in self.assembly.takeAnswers() { self.sendFrame(answer) }
                    }
                    if let event { return event }
                } catch {
                    failure = error
                }
            }
            return nil
        }
        self.watchAttachments()
        if let failure { self.fail(failure, .invalidPayload) }
    }

    func received(_ control: Opcode, payload: ArraySlice<UInt8>) {
        guard self.state == .open else { return }
        var failure: LinkspanError?
        var payload: ArraySlice<UInt8>? = payload
        self.receiver.receive {
            if let event = self.assembly.popPending() { return event }
            guard let payload = payload.take() else { return nil }
            do throws(LinkspanError) {
                return try self.assembly.receive(control, payload: payload, by: self.codec)
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { self.fail(failure, .invalidPayload) }
    }

    /// Makes sure that a message which lacks attachments is looked at again.
    private func watchAttachments(isLastLook: Bool = false) {
        guard self.watch == nil, self.assembly.isCollecting, self.state == .open else { return }
        let parts = self.assembly.parts
        let time = isLastLook ? Self.lastLook : self.attachmentsTimeout
        self.watch = self.loop.scheduleLocally(after: time) {
            self.watch = nil
            let isGettingOn = self.assembly.parts != parts || self.owned?.object.isReceiving == true
            guard self.assembly.isCollecting, !isGettingOn else { return self.watchAttachments() }
            // What has arrived meanwhile is to be read before the server is blamed: perhaps this side was busy.
            guard isLastLook else { return self.watchAttachments(isLastLook: true) }
            self.fail(
                LinkspanError(.protocolViolation, "the attachments of a message did not arrive in time"),
                .policyViolation)
        }
    }

    private func fail(_ error: LinkspanError, _ code: CloseCode) {
        let channel = self.openChannel
        self.end(error)
        channel?.close(code, reason: error.message)
    }

    func writable() {
        if self.state == .open { self.receiver.receive([.writable]) }
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
        if self.state == .ended { return }
        self.state = .ended
        self.request = nil
        self.owned = nil
        self.watch?.cancel()
        self.watch = nil
        self.receiver.receive([.closed(error)])
    }
}
